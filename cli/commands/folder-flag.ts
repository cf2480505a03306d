import { InvalidArgumentError } from 'commander'
import { AppError, type FolderMount, FolderMountSpec, type Session } from '#manager/contract'
import { type Kept } from './command-of-other.ts'

/** Parses `--folder NAME[:PATH][:ro]`, which may be repeated. */
export function collectFolder(text: string, all: FolderMountSpec[] = []): FolderMountSpec[] {
  const [folder = '', ...rest] = text.split(':')
  const readOnly = rest.at(-1) === 'ro'
  const paths = readOnly ? rest.slice(0, -1) : rest
  const parsed = FolderMountSpec.safeParse({
    folder,
    ...(paths.length === 0 ? {} : { path: paths.join(':') }),
    ...(readOnly ? { readOnly } : {}),
  })
  if (parsed.success) return [...all, parsed.data]
  throw new InvalidArgumentError('The value must be NAME, NAME:PATH or NAME:PATH:ro, with a PATH below /home/work.')
}

export interface RestartFolders {
  readonly folder?: readonly FolderMountSpec[]
  readonly withoutFolder?: readonly string[]
}

/**
 * The folders of a session that is started again: those that it had, with one changed or left out and with further ones. A session that an
 * admin launched has only the further ones, unless its owner takes over what the admin chose.
 *
 * @returns undefined if nothing changes @throws AppError `folder_not_found` for a folder to leave out that the session does not have
 */
export function changedFolders(
  { folders: had, launchedBy }: Pick<Session, 'folders' | 'launchedBy'>,
  { folder: more = [], withoutFolder: without = [], keepCommand = false }: RestartFolders & Pick<Kept, 'keepCommand'>,
): FolderMountSpec[] | undefined {
  if (more.length === 0 && without.length === 0) return undefined
  for (const reference of without) {
    if (had.some(mount => isMeant(mount, reference))) continue
    throw new AppError('folder_not_found', { name: reference, why: `The session has no folder "${reference}".` })
  }
  if (launchedBy !== null && !keepCommand) return [...more]
  const kept = had.filter(mount => !without.some(reference => isMeant(mount, reference)))
  return [...kept.map(({ folderId, path, readOnly }) => ({ folder: folderId, path, readOnly })), ...more]
}

/** @param reference id or name, in any letter case */
export function isMeant({ folderId, name }: FolderMount, reference: string): boolean {
  return folderId === reference.toLowerCase() || name.toLowerCase() === reference.toLowerCase()
}
