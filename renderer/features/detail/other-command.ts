import { type Session, SESSION_HOME } from '#manager/contract'

/** Parts of a session launched by an administrator that its owner takes over. */
export interface Kept {
  readonly keepCommand: boolean
  readonly keepFiles: boolean
}
export const NOTHING_KEPT: Kept = { keepCommand: false, keepFiles: false }

/** Whether an administrator launched the session for its owner, so that the owner is asked what another run takes over. */
export const isOfOther = ({ launchedBy }: Session): boolean => launchedBy !== null

/** Whether the administrator chose what runs in it. */
export function hasOtherCommand(session: Session): boolean {
  const { startupCommand, runImageCommand, environNames } = session
  return isOfOther(session) && (startupCommand !== null || runImageCommand || environNames.length > 0)
}

/** Names of the folders that the administrator put at other places than their names. */
export const putElsewhere = ({ folders }: Session): string[] =>
  folders.flatMap(({ name, path }) => (path === `${SESSION_HOME}/${name}` ? [] : [name]))
