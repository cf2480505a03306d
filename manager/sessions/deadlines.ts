import { every } from '#base/every'
import {
  type AgentId,
  because,
  type KernelId,
  type Reason,
  reasonOf,
  type SessionId,
  type SessionStatus,
} from '#manager/contract'
import { type Log } from '../log.ts'
import { type AgentPresence } from '../scheduler/snapshot.ts'
import { type Store } from '../store/open-store.ts'
import { listTransitional, type Overdue } from '../store/sessions/overdue.ts'
import { updateReasons } from '../store/sessions/touches.ts'
import { type SessionChanges } from './changes.ts'
import { endForgotten } from './end-forgotten.ts'
import { type Lifecycle } from './lifecycle/lifecycle.ts'
import { DEFAULT_TIMINGS, type Timings } from '../scheduler/timings.ts'

export interface DeadlinesDeps {
  readonly store: Store
  readonly presence: AgentPresence
  readonly lifecycle: Lifecycle
  readonly changes: SessionChanges
  /** Time for which the pulls of all these kernels have made no progress; undefined if this process has seen no progress at all. */
  readonly pullQuietMs: (kernelIds: readonly KernelId[]) => number | undefined
  /** Time since the agent last reported that one of these kernels is queued for its turn there. */
  readonly sinceWaitingMs?: (kernelIds: readonly KernelId[]) => number | undefined
  /** Whether another manager is connected to the agent. That manager then decides about starts and ends there. */
  readonly isElsewhere?: (agentId: AgentId) => Promise<boolean>
  readonly log: Log
  readonly timings?: Partial<Timings>
}

/**
 * Number of deadlines that pass without the agent's confirmation before the session's reason says that its start or its
 * end is overdue. The end is requested again at each of these deadlines, without a grace period.
 */
const TELL_AFTER = 3

/** The request that forgets an agent ends its sessions; these checks only find sessions of a manager that died meanwhile. */
const FORGOTTEN_EVERY = 10

/**
 * Finds sessions that have been in a transitional state for too long and resolves them. Ages are measured by the
 * database's clock but never exceed the age of this process: after a restart agents reconnect and requests are sent
 * again, and both get their full time.
 */
export function startDeadlines(deps: DeadlinesDeps): AsyncDisposable {
  const timings = { ...DEFAULT_TIMINGS, ...deps.timings }
  const { store, log } = deps
  const startedAt = performance.now()
  const shortest = Math.min(timings.scheduledMs, timings.preparingMs, timings.pullStalledMs, timings.terminatingMs)
  /** For each session that terminates slowly: number of deadlines that had passed when its end was last requested again. */
  const askedAt = new Map<SessionId, number>()
  let sweeps = 0

  async function sweep(): Promise<void> {
    const ownAgeMs = performance.now() - startedAt
    const rows = await listTransitional(store.db, shortest)
    if (rows[0]) store.clock.observe(rows[0].nowMs)
    const ending = new Set(rows.filter(row => row.status === 'TERMINATING').map(row => row.sessionId))
    for (const id of askedAt.keys()) if (!ending.has(id)) askedAt.delete(id)
    for (const row of rows) {
      const ageMs = row.ageMs - store.clock.setForwardSince(row.nowMs - row.ageMs)
      // A failing session must not block the sessions after it: the next round begins with the same one.
      await judge({ ...row, ageMs: Math.min(ageMs, ownAgeMs) }).catch((error: unknown) => {
        log.error({ err: error, id: row.sessionId }, 'a deadline could not be kept; the next sweep tries again')
      })
    }
    if (sweeps++ % FORGOTTEN_EVERY === 0) await endForgotten(deps)
  }

  async function judge(overdue: Overdue): Promise<void> {
    if (overdue.status === 'TERMINATING') await onTerminating(overdue)
    else if (isLate(overdue)) await onLateStart(overdue)
  }

  function isLate({ status, ageMs, kernelIds }: Overdue): boolean {
    if (status === 'SCHEDULED') return ageMs >= timings.scheduledMs
    if (status === 'PREPARING') {
      const sinceWaitingMs = deps.sinceWaitingMs?.(kernelIds) ?? Infinity
      return Math.min(ageMs, sinceWaitingMs) >= timings.preparingMs || ageMs >= timings.preparingMs + timings.turnMs
    }
    const quietMs = deps.pullQuietMs(kernelIds) ?? performance.now() - startedAt
    return ageMs >= timings.pullingMs || Math.min(ageMs, quietMs) >= timings.pullStalledMs
  }

  /**
   * Fails a late start only once its agent confirms that nothing is left of it, or has given up on its own. Otherwise two containers of one
   * session would both hold resources that were allocated once.
   */
  async function onLateStart(overdue: Overdue): Promise<void> {
    const { sessionId, attempt, status, agentId, ageMs, startByPassed } = overdue
    const ready = agentId !== null && deps.presence.isReady(agentId)
    if (!ready && agentId !== null && (await deps.isElsewhere?.(agentId))) return
    const cause: Reason = ready
      ? reasonOf('deadline_exceeded', because(LATE[status] ?? 'start_too_long'))
      : { code: 'agent_lost', message: 'The host was lost while the session started.' }
    // No request was sent yet, or the agent has given up on its own: there is no container to remove.
    if (status === 'SCHEDULED' || (!ready && startByPassed)) await deps.lifecycle.failAttempt(sessionId, attempt, cause)
    else if (!ready) {
      await explain(overdue, AGENT_AWAY_START)
      // On several hosts, containers on those that are connected end now. On one, the request waits for that host.
      if (overdue.kernelIds.length > 1) deps.lifecycle.abandonStart(sessionId, attempt, cause)
    } else {
      if (ageMs >= TELL_AFTER * limitOf(status)) await explain(overdue, UNCONFIRMED_START)
      deps.lifecycle.abandonStart(sessionId, attempt, cause)
    }
  }

  function limitOf(status: SessionStatus): number {
    return status === 'PULLING' ? timings.pullingMs : timings.preparingMs
  }

  /**
   * Repeats the request for an unconfirmed end. The session ends when its agent reports that the container is gone, or when the agent is
   * forgotten, but never because of time: otherwise its resources (such as a GPU) would be allocated again while the first container still
   * uses them.
   */
  async function onTerminating(overdue: Overdue): Promise<void> {
    const { sessionId, agentId, ageMs } = overdue
    if (ageMs < timings.terminatingMs) return
    if (agentId === null || !deps.presence.isReady(agentId)) {
      if (agentId !== null && (await deps.isElsewhere?.(agentId))) return
      return explain(overdue, AGENT_AWAY)
    }
    const deadline = Math.floor(ageMs / timings.terminatingMs)
    if (deadline >= TELL_AFTER) await explain(overdue, UNCONFIRMED)
    if (askedAt.get(sessionId) === deadline) return
    askedAt.set(sessionId, deadline)
    deps.lifecycle.finishTermination(sessionId, 0)
  }

  async function explain({ sessionId, status, reason }: Overdue, message: string): Promise<void> {
    if (reason.message === message) return
    deps.changes.hint(await updateReasons(store.db, status, new Map([[sessionId, { ...reason, message }]])))
  }

  return every(timings.sweepMs, sweep, error =>
    log.error({ err: error }, 'deadline sweep failed; the next one tries again'),
  )
}

const AGENT_AWAY =
  'The host is not connected: the session ends when the host returns, or when an admin removes the host.'
const UNCONFIRMED =
  'The host has not removed the container yet. Berth asks again; the session keeps its resources until the container is gone.'

const AGENT_AWAY_START =
  'The host is not connected. The session is started again, on another host if there is one, once this host can no longer start it.'
const UNCONFIRMED_START =
  'The start takes too long. The session is started again, on another host if there is one, once the first host has cleaned up.'

const LATE: Partial<Record<SessionStatus, 'host_not_ready_in_time' | 'container_late' | 'image_late'>> = {
  SCHEDULED: 'host_not_ready_in_time',
  PREPARING: 'container_late',
  PULLING: 'image_late',
}
