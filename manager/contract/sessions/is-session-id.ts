import type { SessionId } from '../ids.ts'
import { isText, UUID } from '#base/shapes'

/** Accepts what the schema `SessionId` accepts. */
export function isSessionId(value: unknown): value is SessionId {
  return isText(value) && UUID.test(value)
}
