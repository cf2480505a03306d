import { type FolderMount, type Session, SESSION_HOME } from '#manager/contract'

/** Parts of a session launched by an administrator that its owner takes over. */
export interface Kept {
  readonly keepCommand?: boolean
  readonly keepFiles?: boolean
}

const isAtName = ({ name, path }: FolderMount) => path === `${SESSION_HOME}/${name}`

/** Notes about parts that a restarted session lacks, because an admin launched the original and chose them. @param next the new session */
export function leftOut(
  { launchedBy, startupCommand, runImageCommand, environNames, folders }: Session,
  next: Pick<Session, 'folders'>,
  { keepCommand = false, keepFiles = false }: Kept,
): string[] {
  if (launchedBy === null) return []
  const mounted = new Set(next.folders.map(({ folderId }) => folderId))
  const without = folders.filter(({ folderId }) => !mounted.has(folderId)).map(({ name }) => name)
  const parts = [
    ...(startupCommand === null ? [] : [`the command \`${startupCommand}\``]),
    ...(runImageCommand ? ['the program of the image'] : []),
    ...(environNames.length === 0 ? [] : [`the variables ${environNames.join(', ')}`]),
    ...(folders.every(isAtName) ? [] : ['the places of its folders']),
    ...(without.length === 0 ? [] : [`the folders ${without.join(', ')}`]),
  ]
  const chosen = `${launchedBy} launched the session and chose ${parts.join(' and ')}: left out.`
  return [
    ...(keepCommand || parts.length === 0 ? [] : [`${chosen} \`--keep-command\` takes them over.`]),
    ...(keepFiles
      ? []
      : [
          `${launchedBy} launched the session, so the files of its home are left out. \`--keep-files\` continues with them.`,
        ]),
  ]
}
