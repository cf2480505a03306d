import { type ErrorCode, isAppError } from '#manager/contract/light'

/**
 * Consequence of a failure on the way to a session for its tunnel.
 *
 * - `wait`: the path is down; connections wait and retry
 * - `sign_in`: the user has to sign in again; connections wait
 * - `new_grant`: the grant is invalid (manager restarted, revoked); request another one
 * - `ended`: the session is over, and so is the tunnel
 * - `fail`: this connection fails, the tunnel stays (the app did not start, the port refused)
 */
export type Verdict = 'wait' | 'sign_in' | 'new_grant' | 'ended' | 'fail'

const VERDICTS: Partial<Record<ErrorCode, Verdict>> = {
  unavailable: 'wait',
  rate_limited: 'wait',
  agent_unreachable: 'wait',
  engine_unreachable: 'wait',
  tunnel_failed: 'wait',
  not_signed_in: 'sign_in',
  grant_invalid: 'new_grant',
  session_not_found: 'ended',
  session_not_running: 'ended',
  not_found: 'ended',
  published_app_not_found: 'ended',
}

export function verdictOf(error: unknown): Verdict {
  if (isAppError(error)) return VERDICTS[error.code] ?? 'fail'
  // Plain network errors: connection refused or reset, timeouts of our own attempts.
  if (error instanceof Error && (error.name === 'TimeoutError' || 'errno' in error || 'syscall' in error)) return 'wait'
  return 'fail'
}
