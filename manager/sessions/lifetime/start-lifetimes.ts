import { every } from '#base/every'
import { type AgentId, because, type KernelId, type Reason, reasonOf, type SessionId } from '#manager/contract'
import { type Audit } from '../../audit/recorder.ts'
import { type Log } from '../../log.ts'
import { type SampleWindow } from '../../stats/sample-ring.ts'
import { listMortal, type MortalSession, runIdleClocks, stopIdleClocks } from '../../store/sessions/lifetime.ts'
import { type Store } from '../../store/open-store.ts'
import { touchSessions } from '../../store/sessions/touches.ts'
import { type SessionActivity } from '../../tunnels/activity.ts'
import { type LockedSession, type SessionChanges } from '../changes.ts'
import { type Lifecycle } from '../lifecycle/lifecycle.ts'
import { DEFAULT_TIMINGS, type Timings } from '../../scheduler/timings.ts'
import { type End, endOf, warnedAt } from './ends.ts'
import { createTrafficMeter } from './traffic.ts'
import { type Verdict, verdictOf } from './verdict.ts'

export interface LifetimesDeps {
  readonly store: Store
  readonly presence: { isReady(id: AgentId): boolean }
  readonly lifecycle: Pick<Lifecycle, 'terminate'>
  readonly changes: SessionChanges
  readonly windowOf: (kernelId: KernelId, span: { windowMs: number; freshMs: number }) => SampleWindow | undefined
  /** Traffic of a session's tunnels through this manager. */
  readonly activityOf: (id: SessionId) => SessionActivity
  /** Records automatic ends. No user causes them, so no route records them. */
  readonly audit?: Audit | undefined
  readonly log: Log
  readonly timings?: Partial<Timings>
}

/**
 * Ends sessions that have been idle for too long or have reached their maximum lifetime, and notifies clients when a warning is due. Every
 * manager may run this at the same time: a manager that sees activity stops the idle clock for all, and an end is decided once more under
 * the session's lock.
 */
export function startLifetimes(deps: LifetimesDeps): AsyncDisposable {
  const { store, presence, lifecycle, changes, windowOf, activityOf, audit, log } = deps
  const timings = { ...DEFAULT_TIMINGS, ...deps.timings }
  const span = { windowMs: timings.idleWindowMs, freshMs: timings.idleFreshMs }
  const meter = createTrafficMeter(timings.idleWindowMs)
  /** The last warning of which clients were notified, per session. */
  const told = new Map<SessionId, Warning>()

  function judge(session: MortalSession): Verdict {
    return verdictOf({
      kernels: (session.kernels ?? []).map(({ id, agentId }) =>
        agentId !== null && presence.isReady(agentId) ? windowOf(id, span) : undefined,
      ),
      traffic: meter.measure(session.id, activityOf(session.id)),
    })
  }

  /**
   * Corrects for a database clock that was set forward, so that no session ends early. (Idle time is summed up between rounds and needs no
   * correction.)
   */
  function inOwnTime(session: MortalSession): MortalSession {
    const { expiresInMs, nowMs, startedAtMs } = session
    store.clock.observe(nowMs)
    if (expiresInMs === null || startedAtMs === null) return session
    return { ...session, expiresInMs: expiresInMs + store.clock.setForwardSince(startedAtMs) }
  }

  async function sweep(): Promise<void> {
    const sessions = (await listMortal(store.db)).map(inOwnTime)
    meter.keep(new Set(sessions.map(session => session.id)))
    const watched = sessions.filter(session => session.idleTimeoutSeconds !== null)
    const verdicts = new Map(watched.map(session => [session.id, judge(session)]))
    const those = (verdict: Verdict) => watched.filter(({ id }) => verdicts.get(id) === verdict)
    const revived = those('busy').filter(session => session.idleForMs !== null)
    await stopIdleClocks(
      store.db,
      revived.map(({ id }) => id),
    )
    const idle = await runIdleClocks(
      store.db,
      those('idle').map(({ id }) => id),
      { seenEveryMs: timings.idleSeenEveryMs, gapMs: timings.idleGapMs },
    )
    const news = new Map<SessionId, Warning | null>()
    for (const session of sessions) {
      const verdict = verdicts.get(session.id)
      const { idleForMs, idleSince } = idle.get(session.id) ?? session
      const seen = { ...session, idleSince, idleForMs: verdict === 'idle' ? idleForMs : null }
      const end = endIn(seen)
      const warning = warningIn(end)
      // Only Slurm knows whether its limit still holds: the session ends with its job.
      const own = end?.why === 'slurm_time_limit' ? endIn({ ...seen, slurmEndsInMs: null }) : end
      if (own && own.at <= 0) await tryToFinish(seen, own)
      else if (isNews(warning, told.get(session.id) ?? null, verdict)) news.set(session.id, warning)
    }
    for (const id of told.keys()) if (!sessions.some(session => session.id === id)) told.delete(id)
    changes.hint(await touchSessions(store.db, [...news.keys()]))
    // Update the memory only after the hints are sent: a warning that failed to be sent is sent by the next sweep.
    for (const [id, warning] of news) {
      if (warning === null) told.delete(id)
      else told.set(id, warning)
    }
  }

  /** A session that cannot be ended now must not delay the others; the next sweep tries it again. */
  async function tryToFinish(session: MortalSession, end: End): Promise<void> {
    await finish(session, end).catch((error: unknown) => {
      log.error(
        { err: error, sessionId: session.id, why: end.why },
        'a session at the end of its lifetime could not be ended',
      )
    })
  }

  async function finish(session: MortalSession, { why }: End): Promise<void> {
    const reason = why === 'idle_timeout' ? idleReason(session) : lifetimeReason(session)
    const decided: boolean[] = []
    await lifecycle.terminate(session.id, {
      reason,
      still: state => {
        const due = isUnchanged(state, session, why)
        decided.push(due)
        return due
      },
    })
    // The transaction may have been repeated: its last decision counts.
    if (!decided.at(-1)) return
    log.info({ sessionId: session.id, why }, 'session is ended')
    await audit?.record({ action: 'endSession', target: `session:${session.id}`, result: 'ok', detail: { why } })
  }

  return every(timings.lifetimeSweepMs, sweep, error =>
    log.error({ err: error }, 'lifetimes could not be checked; trying again'),
  )
}

interface Warning {
  readonly why: End['why']
  /** Time from the warning to the end. */
  readonly beforeMs: number
}

/** The warning that is due now, if any; now is 0. */
function warningIn(end: End | null): Warning | null {
  const due = end && warnedAt(end, 0)
  return !end || due === null ? null : { why: end.why, beforeMs: end.at - due }
}

function isNews(warning: Warning | null, told: Warning | null, verdict: Verdict | undefined): boolean {
  // The agent is disconnected, so the session may be busy again without our knowledge: keep the idle warning.
  if (verdict === 'unknown' && warning === null && told?.why === 'idle_timeout') return false
  return warning?.why !== told?.why || warning?.beforeMs !== told?.beforeMs
}

/** The nearest end, relative to now (0). */
function endIn(session: MortalSession): End | null {
  const { idleForMs, idleTimeoutSeconds, expiresInMs, maxLifetimeSeconds, slurmEndsInMs, nowMs, startedAtMs } = session
  return endOf({
    slurmEndsAt: slurmEndsInMs,
    slurmLimitMs: slurmEndsInMs === null || startedAtMs === null ? null : slurmEndsInMs + nowMs - startedAtMs,
    idleSince: idleForMs === null ? null : -idleForMs,
    idleTimeoutMs: idleTimeoutSeconds === null ? null : idleTimeoutSeconds * 1000,
    expiresAt: expiresInMs,
    maxLifetimeMs: maxLifetimeSeconds === null ? null : maxLifetimeSeconds * 1000,
  })
}

/** Whether the session has been neither extended nor found busy by another manager since it was read. */
function isUnchanged({ status, session }: LockedSession, seen: MortalSession, why: End['why']): boolean {
  const same = (one: Date | null, other: Date | null) => one?.getTime() === other?.getTime()
  if (status !== 'RUNNING') return false
  return why === 'max_lifetime'
    ? same(session.expires_at, seen.expiresAt)
    : session.idle_since !== null && same(session.idle_since, seen.idleSince)
}

function idleReason({ idleTimeoutSeconds }: MortalSession): Reason {
  const { unit, count } = spanOf(idleTimeoutSeconds ?? 0)
  return reasonOf('idle_timeout', because(`idle_for_${unit}`, { count }))
}

function lifetimeReason({ maxLifetimeSeconds }: MortalSession): Reason {
  if (maxLifetimeSeconds === null) return { code: 'max_lifetime', message: 'The maximum lifetime has passed.' }
  const { unit, count } = spanOf(maxLifetimeSeconds)
  return reasonOf('max_lifetime', because(`lived_${unit}`, { count }))
}

/** A duration in the largest unit of which it is a whole number: 5400 → 90 minutes, 28800 → 8 hours. */
function spanOf(seconds: number): { unit: 'days' | 'hours' | 'minutes' | 'seconds'; count: number } {
  for (const [unit, length] of UNITS) {
    if (seconds >= length && seconds % length === 0) return { unit, count: seconds / length }
  }
  return { unit: 'seconds', count: seconds }
}

const UNITS = [
  ['days', 86_400],
  ['hours', 3_600],
  ['minutes', 60],
] as const
