import { type Problem } from '#manager/contract'
import { type ConnectionState } from './sse-client.ts'

export interface ConnectionInfo {
  readonly state: ConnectionState
  /** When the next attempt begins (milliseconds since 1970), while `waiting`. */
  readonly retryAt?: number
  /** While `waiting`: true if the console's server answered but its manager did not; false if nothing answered. */
  readonly answered?: boolean
  /** While `waiting`: the server's reason for refusing, if it gave one. */
  readonly problem?: Problem
}
