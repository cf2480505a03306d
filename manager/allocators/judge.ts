import { because, type Reason, reasonOf, type SessionId } from '#manager/contract'
import { type AllocatedSession } from '../store/sessions/allocations.ts'
import { type GrantIdentity } from '../store/tables/scheduling.ts'
import { type Allocation, type AllocationEnd } from './allocator.ts'
import { endReason, waitingReason } from './slurm/reasons.ts'

type Granted = Extract<Allocation, { state: 'granted' }>

/** An act for a session after a look at the engine. */
export type Act =
  /** Request an allocation, the next one after `run`. */
  | { readonly act: 'ask'; readonly id: SessionId; readonly run: number }
  | { readonly act: 'show'; readonly id: SessionId; readonly reason: Reason }
  /** Place the session on its grant, which was seen first `sinceMs` ago. */
  | { readonly act: 'place'; readonly id: SessionId; readonly allocation: Granted; readonly sinceMs: number }
  /** Record the grant of a session that was placed before this could be recorded. */
  | { readonly act: 'record'; readonly name: string; readonly identity: GrantIdentity }
  /** Slurm ends the job at another time than the session shows. */
  | { readonly act: 'until'; readonly id: SessionId; readonly endsAt: Date | null }
  /** Tell the programs of the session when it is stopped, so that they save their work; null: that is not soon, after all. */
  | {
      readonly act: 'warn'
      readonly id: SessionId
      readonly name: string
      readonly endsAt: Date | null
      /** The session is interrupted then, and continues on another allocation. */
      readonly continues: boolean
    }
  /** Show when the session is interrupted; null: it is not, after all. */
  | { readonly act: 'announce'; readonly id: SessionId; readonly at: Date | null }
  /** Stop the session, which then waits for another allocation to continue. */
  | { readonly act: 'interrupt'; readonly id: SessionId }
  /** The engine does not list the allocation of the session any more, so the session ends; the engine's history may know why. */
  | {
      readonly act: 'lost'
      readonly id: SessionId
      readonly name: string
      readonly user: string | null
      readonly identity: GrantIdentity | null
    }
  | { readonly act: 'end'; readonly id: SessionId; readonly reason: Reason; readonly isWaiting: boolean }

export interface JudgeTimes {
  /** A grant is used only if a look this long after the first one finds the same grant: a controller that dies may forget a young one. */
  readonly confirmMs: number
  /** Time for a request to appear in the list. */
  readonly appearMs: number
  /** Pause between two requests for a session. */
  readonly retryMs: number
  /** Time before the end of a job at which its programs are told, and at most half of the length of the job. */
  readonly warnMs: number
  /** Time before the end of a preempted job at which the session is stopped, so that it is gone in time. */
  readonly stopMs: number
}

export const JUDGE_TIMES: JudgeTimes = {
  confirmMs: 5_000,
  appearMs: 60_000,
  retryMs: 30_000,
  warnMs: 120_000,
  stopMs: 15_000,
}

/** Number of good lists in a row in which an allocation must be missing, or cancelled before its grant, until that counts. */
const GONE_AFTER = 2

/** Findings of earlier looks of this process; entries of names that are not requested any more are dropped. */
export interface Memory {
  /** First look at each grant, by name. */
  readonly granted: Map<string, { readonly identity: GrantIdentity; readonly at: number }>
  /** Number of good lists in a row without the allocation, by name. */
  readonly missing: Map<string, number>
  /** Requests that this process made or has seen alive, by name. Of others it does not know how they ended. */
  readonly followed: Map<string, true>
  /** Number of good lists in a row in which a waiting session's job is cancelled, by name. */
  readonly cancelled: Map<string, number>
  /** The engine's words for requests that it refused, by name. */
  readonly refused: Map<string, string>
  /** Ends of which programs were told, by name; milliseconds since the epoch, or `NOT_KNOWN`. */
  readonly warned: Map<string, number>
}

/** Programs may have been told anything: it equals no end, and no missing one, so they are told again. */
export const NOT_KNOWN = Number.NaN

export const createMemory = (): Memory => ({
  granted: new Map(),
  missing: new Map(),
  followed: new Map(),
  cancelled: new Map(),
  refused: new Map(),
  warned: new Map(),
})

export interface Look {
  /** A complete list of the engine. */
  readonly allocations: readonly Allocation[]
  /** Sessions that have not ended, read after the list. */
  readonly sessions: readonly AllocatedSession[]
  /** Waiting sessions for which an allocation may be requested now. */
  readonly mayAsk: ReadonlySet<SessionId>
  /** Milliseconds of any clock that runs evenly. */
  readonly nowMs: number
  /** Milliseconds since the epoch, to compare with the ends of jobs. */
  readonly timeMs: number
}

/** Decides what to do for each session after a good look at the engine. Changes the memory only. */
export function judge(look: Look, memory: Memory, times: JudgeTimes = JUDGE_TIMES): readonly Act[] {
  const userOf = new Map(
    look.sessions.flatMap(({ request }) => (request ? [[request.name, request.user] as const] : [])),
  )
  const byName = new Map<string, Allocation>()
  for (const one of look.allocations) {
    // A job of another user is none of ours, whatever its name.
    if (userOf.get(one.name) !== one.user) continue
    const other = byName.get(one.name)
    if (!other || rank(one) > rank(other)) byName.set(one.name, one)
  }
  const names = new Set(look.sessions.flatMap(({ request }) => request?.name ?? []))
  for (const map of Object.values<Map<string, unknown>>({ ...memory }))
    for (const name of map.keys()) if (!names.has(name)) map.delete(name)
  return look.sessions.flatMap(session => {
    const found = session.request ? byName.get(session.request.name) : undefined
    if (session.status === 'PENDING') return judgeWaiting(session, found, { look, memory, times })
    // The container is being removed; the allocation is kept until it is gone.
    if (session.status === 'TERMINATING') return []
    return judgeRunning(session, found, { look, memory, times })
  })
}

/** A live allocation counts before an ended one of the same name. */
const rank = ({ state }: Allocation) => (state === 'ended' ? 0 : 1)

interface Context {
  readonly look: Look
  readonly memory: Memory
  readonly times: JudgeTimes
}

function judgeWaiting(
  { id, request }: AllocatedSession,
  found: Allocation | undefined,
  { look: { mayAsk, nowMs }, memory, times }: Context,
): readonly Act[] {
  const ask = (run: number): readonly Act[] => (mayAsk.has(id) ? [{ act: 'ask', id, run }] : [])
  const show = (reason: Reason): readonly Act[] => [{ act: 'show', id, reason }]
  if (!request) return ask(1)
  const { name, run, askedAgoMs } = request
  const again = (reason: Reason) => (askedAgoMs < times.retryMs ? show(reason) : ask(run + 1))
  // An earlier start on this grant has failed, or it was given back.
  if (request.granted) return askedAgoMs < times.retryMs ? [] : ask(run + 1)
  if (!found) {
    const refused = memory.refused.get(name)
    if (refused !== undefined)
      return again(reasonOf('allocation_refused', because('slurm_refused', { words: refused })))
    const missing = countIn(memory.missing, name)
    return askedAgoMs < times.appearMs || missing < GONE_AFTER ? show(ASKED) : ask(run + 1)
  }
  memory.missing.delete(name)
  if (found.state === 'ended') {
    // Slurm also cancels the job if its client is told to end, as when the manager's host shuts down. Then nobody wanted that.
    if (found.end !== 'cancelled' || !memory.followed.has(name))
      return again(reasonOf('allocation_waits', because('slurm_asked_again')))
    if (countIn(memory.cancelled, name) < GONE_AFTER) return []
    return [{ act: 'end', id, reason: endReason('cancelled'), isWaiting: true }]
  }
  memory.followed.set(name, true)
  if (found.state === 'waiting') return show(waitingReason(found))
  if (found.state === 'changing') return show(ASKED)
  const first = memory.granted.get(name)
  if (!first || !isSame(first.identity, found.identity)) {
    memory.granted.set(name, { identity: found.identity, at: nowMs })
    return show(CONFIRMING)
  }
  const sinceMs = nowMs - first.at
  return sinceMs < times.confirmMs ? show(CONFIRMING) : [{ act: 'place', id, allocation: found, sinceMs }]
}

function judgeRunning(
  session: AllocatedSession,
  found: Allocation | undefined,
  { look: { timeMs }, memory, times }: Context,
): readonly Act[] {
  const { id, request, slurmEndsAt, interruptAt } = session
  // The session was placed by Berth itself, or imported from its host.
  if (!request) return []
  const { name, user, granted } = request
  if (found && granted && isRequeued(found.identity, granted)) return [actOnEnd(session, 'requeued')]
  const isOurs = found !== undefined && (granted === null || isSameJob(found.identity, granted))
  if (!isOurs || (found.state === 'granted' && granted !== null && !isSame(found.identity, granted)))
    return countIn(memory.missing, name) < GONE_AFTER ? [] : [{ act: 'lost', id, name, user, identity: granted }]
  memory.missing.delete(name)
  if (found.state === 'ended') return [actOnEnd(session, found.end)]
  if (found.state !== 'granted') return []
  // Slurm stops nothing on a node that it takes away. An answer without nodes says nothing about them.
  if (found.nodes.length > 0 && found.nodes.length < session.nodes)
    return [{ act: 'end', id, reason: SHRUNK, isWaiting: false }]
  const { identity, endsAt, isPreempted } = found
  const leftMs = endsAt === null ? null : endsAt.getTime() - timeMs
  // The end of a preempted job is that of its grace time.
  if (isPreempted && (endsAt === null || leftMs === null || leftMs <= times.stopMs))
    return [actOnEnd(session, 'preempted')]
  const isNear = leftMs !== null && leftMs <= Math.min(times.warnMs, lengthOf(found) / 2)
  // Programs of a session that continues are told when Berth stops it, as at any interruption.
  const stopsAt = isPreempted && endsAt && mayContinue(session) ? new Date(endsAt.getTime() - times.stopMs) : null
  const warning = stopsAt ?? (isPreempted || isNear ? endsAt : null)
  const isMoved = endsAt?.getTime() !== slurmEndsAt?.getTime()
  // Another process may have told them of the end that does not hold any more.
  if (isMoved && slurmEndsAt && !memory.warned.has(name)) memory.warned.set(name, NOT_KNOWN)
  const continues = stopsAt !== null || interruptAt !== null
  return [
    ...(granted ? [] : [{ act: 'record', name, identity } as const]),
    ...(isMoved ? [{ act: 'until', id, endsAt } as const] : []),
    ...(stopsAt?.getTime() === interruptAt?.getTime() ? [] : [{ act: 'announce', id, at: stopsAt } as const]),
    ...(warning?.getTime() === memory.warned.get(name)
      ? []
      : [{ act: 'warn', id, name, endsAt: warning, continues } as const]),
  ]
}

/**
 * Act for a session whose allocation has ended. Pure.
 *
 * @param end left out: nobody knows how it ended
 */
export function actOnEnd(
  session: Pick<AllocatedSession, 'id' | 'status' | 'isInterruptible'>,
  end?: AllocationEnd,
): Act {
  const { id } = session
  if ((end === 'preempted' || end === 'requeued') && mayContinue(session)) return { act: 'interrupt', id }
  return { act: 'end', id, reason: endReason(end), isWaiting: false }
}

/** A session that is only being started has no work to save. */
const mayContinue = ({ status, isInterruptible }: Pick<AllocatedSession, 'status' | 'isInterruptible'>) =>
  isInterruptible && status === 'RUNNING'

const lengthOf = ({ endsAt, identity: { startedAt } }: Granted) =>
  endsAt === null || startedAt === null ? Infinity : endsAt.getTime() - startedAt * 1000

function countIn(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return count
}

const isSameJob = (a: GrantIdentity, b: GrantIdentity) =>
  a.id === b.id && a.submittedAt === b.submittedAt && a.restarts === b.restarts
/** The engine has taken the resources away from the job, and queued it again under its number. */
const isRequeued = (now: GrantIdentity, granted: GrantIdentity) =>
  now.id === granted.id && now.submittedAt === granted.submittedAt && now.restarts > granted.restarts
const isSame = (a: GrantIdentity, b: GrantIdentity) => isSameJob(a, b) && a.startedAt === b.startedAt

/**
 * Allocations of this Berth that no live session needs: their sessions have ended, wait again, or have made another request.
 *
 * @param nameOwner whether the name was made by this Berth for a session; all others are left alone
 */
export function surplus(
  { allocations, sessions }: Pick<Look, 'allocations' | 'sessions'>,
  nameOwner: (name: string) => SessionId | undefined,
): readonly Allocation[] {
  const needed = new Set(
    sessions.flatMap(({ status, request }) =>
      request && !(status === 'PENDING' && request.granted) ? [request.name] : [],
    ),
  )
  return allocations.filter(
    ({ name, state }) =>
      (state === 'waiting' || state === 'granted') && !needed.has(name) && nameOwner(name) !== undefined,
  )
}

export const ASKED: Reason = reasonOf('allocation_waits', because('slurm_asked'))
const SHRUNK: Reason = reasonOf('allocation_ended', because('slurm_shrunk'))
const CONFIRMING: Reason = reasonOf('allocation_waits', because('slurm_confirming'))
