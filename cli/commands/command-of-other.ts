import { type Session } from '#manager/contract'

/** Note about what a restarted session does not run, because an admin who launched it had chosen it; undefined if there is nothing. */
export function leftOut({ launchedBy, startupCommand, runImageCommand, environNames }: Session): string | undefined {
  if (launchedBy === null) return undefined
  const parts = [
    ...(startupCommand === null ? [] : [`the command \`${startupCommand}\``]),
    ...(runImageCommand ? ['the program of the image'] : []),
    ...(environNames.length === 0 ? [] : [`the variables ${environNames.join(', ')}`]),
  ]
  if (parts.length === 0) return undefined
  return `${launchedBy} launched the session and chose ${parts.join(' and ')}: left out. \`--keep-command\` takes them over.`
}
