import { type Problem } from '#manager/contract'
import { type ConnectionState } from './sse-client.ts'

export interface ConnectionInfo {
  readonly state: ConnectionState
  /** When the next attempt begins (milliseconds since 1970), while `waiting`. */
  readonly retryAt?: number
  /** While `waiting`: the console's server answered and its manager did not; false if nobody answered. */
  readonly answered?: boolean
  /** While `waiting`: why the server has refused, where it said so. */
  readonly problem?: Problem
}
