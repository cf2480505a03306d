import { type Session } from '#manager/contract'

/** Parts of a session launched by an administrator that its owner takes over. */
export interface Kept {
  readonly keepCommand: boolean
  readonly keepFiles: boolean
}
export const NOTHING_KEPT: Kept = { keepCommand: false, keepFiles: false }

/** Whether an administrator launched the session for its owner; the owner is then asked what a restart keeps. */
export const isOfOther = ({ launchedBy }: Session): boolean => launchedBy !== null
