import { type Session } from '#manager/contract'

/** Whether an administrator launched the session for its owner, and chose what runs in it. */
export function hasOtherCommand(session: Session): boolean {
  const { launchedBy, startupCommand, runImageCommand, environNames } = session
  return launchedBy !== null && (startupCommand !== null || runImageCommand || environNames.length > 0)
}
