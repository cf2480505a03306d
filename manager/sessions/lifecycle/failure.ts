import {
  type AgentId,
  because,
  becauseOf,
  isAppError,
  type Reason,
  reasonOf,
  together,
  toWireError,
} from '#manager/contract'
import { type Change } from '../transition.ts'

/**
 * Errors that mean that the host cannot start anything. The session is not at fault, so they do not count as attempts. Still, retries there
 * are not endless: an agent limits its starts while its engine is overloaded, and nothing is placed on an agent that is disconnected, or
 * that reports that its network range is taken, its disk is full, or a storage is missing.
 */
const HOST_UNFIT: ReadonlySet<string> = new Set([
  'engine_busy',
  'engine_unreachable',
  'network_range_taken',
  // The agent then reports that it keeps no session in, and the session is placed elsewhere.
  'network_not_enforceable',
  'storage_away',
])

/**
 * Causes that the agent also reports as a problem of its host. An engine's message that its disk is full is not among them: the agent
 * checks this, and reports `host_disk_short` if it is true.
 */
const REPORTED: ReadonlySet<unknown> = new Set([
  'host_disk_short',
  'host_directory_apart',
  'host_without_toolbox',
  'host_starts_nothing',
  'host_unhealthy',
  'docker_refused_networks',
  // The agent then reports no address, and the session is placed elsewhere.
  'host_left_private_network',
  // The GPU then has a problem, and is not allocated any more.
  'engine_without_gpus',
  'gpu_not_in_cdi',
  'host_gpu_failed',
  // The limits of that GPU then count as not enforced, so the next start sets none.
  'gpu_limit_not_set',
  // The agent will be disconnected next.
  'agent_stopping',
])

/** Errors that would also occur in another attempt or on another host. */
const SAME_EVERYWHERE: ReadonlySet<string> = new Set(['files_gone', 'folder_not_found', 'image_without_program'])

/** Why the start of a session on a host failed. */
export interface Failure {
  readonly cause: Reason
  /** The session would fail the same way anywhere, so there is no other attempt. */
  readonly isFinal: boolean
  /** The agent on which it failed; left out: that of the main kernel. */
  readonly agentId?: AgentId | undefined
}

export function failureOn(host: string, error: unknown): Failure {
  const isHosts = isAppError(error) && (HOST_UNFIT.has(error.code) || REPORTED.has(error.detail['cause']))
  const started = because('start_failed_on', { host })
  const known = becauseOf(error)
  const code = isHosts ? 'host_unfit' : 'create_failed'
  const isFinal = isAppError(error) && SAME_EVERYWHERE.has(error.code)
  // A cause without a key stays whole in English.
  const cause: Reason = known
    ? reasonOf(code, together(started, known))
    : { code, message: `${started.why} ${whyOf(error)}` }
  return { cause, isFinal }
}

/** Whether an attempt that failed for this cause counts towards the maximum of the session. */
const costsAttempt = (cause: Reason) => cause.code !== 'host_unfit'

/** Next state after a failed start: waiting for another attempt, or ERROR after the last one. */
export function afterFailure(
  { cause, isFinal, agentId: failedOn }: Failure,
  { counted, maxAttempts }: { readonly counted: number; readonly maxAttempts: number },
): Pick<Change, 'to' | 'reason' | 'failedOn'> {
  const isFree = !costsAttempt(cause)
  if (isFinal || (!isFree && counted >= maxAttempts)) return { to: 'ERROR', reason: cause }
  const code = isFree ? cause.code : 'retried'
  const again = because('trying_again')
  const more = cause.cause === undefined ? {} : { more: [...(cause.more ?? []), { cause: again.cause }] }
  return { to: 'PENDING', failedOn, reason: { ...cause, code, message: `${cause.message} ${again.why}`, ...more } }
}

export const isUnreachable = (error: unknown) => isAppError(error) && error.code === 'agent_unreachable'

/** @returns false if the agent could not be reached; any other error is thrown */
export function ignoreUnreachable(error: unknown): false {
  // The agent reports when it is back, and the deadline checks ask again.
  if (isUnreachable(error)) return false
  throw error
}

function whyOf(error: unknown): string {
  if (!isAppError(error)) return toWireError(error).message + '.'
  const { why } = error.detail
  const text = typeof why === 'string' ? why : error.message
  return /[.!?]$/.test(text) ? text : `${text}.`
}
