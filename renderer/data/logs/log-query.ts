import { isSessionId, type SessionId } from '#manager/contract'

/** Most logs beside each other: each is read every two seconds. */
export const MOST_LOGS = 6

/** Reads the ids in the address, each once. What is no id is dropped: an address may be mistyped. */
export function readLogIds(value: unknown): SessionId[] {
  if (typeof value !== 'string') return []
  return [...new Set(value.split(',').filter(isSessionId))].slice(0, MOST_LOGS)
}
