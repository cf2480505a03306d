import { isSessionId, type SessionId } from '#manager/contract'

/** Largest number of logs side by side: each is read every two seconds. */
export const MOST_LOGS = 6

/** Reads the ids in the address, each once. Invalid ids are dropped: an address may be mistyped. */
export function readLogIds(value: unknown): SessionId[] {
  if (typeof value !== 'string') return []
  return [...new Set(value.split(',').filter(isSessionId))].slice(0, MOST_LOGS)
}
