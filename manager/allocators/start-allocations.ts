import { type ManagerId, type Reason, type SessionId } from '#manager/contract'
import { ALL_JOBS, type JobLocks } from '../cluster/job-locks.ts'
import { PAUSED } from '../scheduler/pause.ts'
import { schedulerJob } from '../scheduler/tick.ts'
import {
  type AllocatedGroup,
  hasAllocations,
  listAllocatedGroups,
  listAllocatedSessions,
} from '../store/sessions/allocations.ts'
import { listPending } from '../store/sessions/queue.ts'
import { updateReasons } from '../store/sessions/touches.ts'
import { type Allocation, type Allocator } from './allocator.ts'
import { type CarryOutDeps, createCarryOut } from './carry-out.ts'
import { chooseAsking } from './choose-asking.ts'
import { createEngineList } from './engine-list.ts'
import { type Act, ASKED, createMemory, judge, JUDGE_TIMES, type JudgeTimes, surplus } from './judge.ts'
import { type Looks, startLooks } from './looks.ts'
import { sessionOf } from './names.ts'
import { readWaiting, type WaitingSessions } from './read-waiting.ts'

/** Runs the resource groups whose engine is not Berth. A trigger requests a look at the engine soon, because something changed. */
export type Allocations = Looks

/** Parts that `startAllocations` makes by itself. */
type OwnParts = 'allocator' | 'memory' | 'nowhere' | 'onRefused' | 'signal' | 'giveUpMs'

export interface AllocationsDeps extends Omit<CarryOutDeps, OwnParts> {
  readonly managerId: ManagerId
  /** Ends its calls in progress when the signal aborts. */
  readonly allocatorFor: (signal: AbortSignal) => Allocator
  /** Cancels a session that can never start. */
  readonly cancel: (id: SessionId, reason: Reason) => Promise<void>
  readonly jobLocks?: JobLocks
  readonly isPaused: () => Promise<boolean>
  /** Whether the database is older than what runs, because a backup was restored. */
  readonly isRestored: () => Promise<boolean>
  /** Interval of the looks at the engine. */
  readonly pollMs?: number
  readonly times?: Partial<JudgeTimes>
  /** A grant on which the session cannot be placed for this long is given back. */
  readonly giveUpMs?: number
  /** Most requests of a group that wait at the engine. */
  readonly mostWaiting?: number
}

const POLL_MS = 5_000
const GIVE_UP_MS = 120_000
/** Requests of a group that wait at the engine: each has a process on this host. */
const MOST_WAITING = 100

const BEHIND: Reason = { code: 'queued_behind', message: 'Sessions ahead in the queue start first.' }

/**
 * Keeps sessions and allocations in step, in a loop: look at the engine, read the sessions, judge, act. The decision is in `judge.ts`, the acts
 * are in `carry-out.ts`. Without a complete answer of the engine nothing is started, ended or released. Of several managers, only the one that
 * schedules a group acts for it.
 */
export function startAllocations(deps: AllocationsDeps): Allocations {
  const { store, managerId, presence, rights, hint, log, jobLocks = ALL_JOBS, pollMs = POLL_MS } = deps
  const { giveUpMs = GIVE_UP_MS, mostWaiting = MOST_WAITING } = deps
  const times = { ...JUDGE_TIMES, ...deps.times }
  const closing = new AbortController()
  const { signal } = closing
  const allocator = deps.allocatorFor(signal)
  const memory = createMemory()
  const list = createEngineList({ store, managerId, allocator, signal, log })
  const nowhere = new Set<SessionId>()
  const onRefused = () => looks.trigger()
  const carryOut = createCarryOut({ ...deps, giveUpMs, allocator, memory, nowhere, onRefused, signal })
  const isHeld = ({ name }: AllocatedGroup) => jobLocks.holds(schedulerJob(name))
  const namedBy = (name: string) => sessionOf(managerId, name)
  /** Whether Slurm may have allocations of groups that it does not run any more; undefined until the first look without groups. */
  let mayBeLeft: boolean | undefined

  async function look(): Promise<void> {
    const groups: AllocatedGroup[] = []
    for (const group of await listAllocatedGroups(store.db))
      if (await jobLocks.take(schedulerJob(group.name))) groups.push(group)
    if (groups.length === 0) return sweepRest()
    mayBeLeft = true
    // The sessions that a backup does not know have allocations too.
    if (await deps.isRestored()) return explain(groups, PAUSED)
    const allocations = await list.read()
    if (!allocations) return explain(groups, list.awayReason())
    const isPaused = await deps.isPaused()
    const waiting = await Promise.all(groups.map(group => readWaiting(store.db, group, { presence, rights })))
    for (const { doomed } of waiting) for (const [id, reason] of doomed) await deps.cancel(id, reason)
    const names = groups.map(({ name }) => name)
    const sessions = await listAllocatedSessions(store.db, names)
    // The lock may have been lost while the engine was asked; then another manager may act already.
    if (!groups.every(isHeld)) return
    await release(surplus({ allocations, sessions }, namedBy))
    const own = sessions.filter(session => names.includes(session.resourceGroup))
    for (const id of nowhere) if (!waiting.some(({ startable }) => startable.has(id))) nowhere.delete(id)
    const isRefused = (name: string) => memory.refused.has(name)
    const mayAsk = isPaused ? new Set<SessionId>() : chooseAsking(waiting, own, { mostWaiting, nowhere, isRefused })
    const seen = { allocations, sessions: own, mayAsk, nowMs: performance.now(), timeMs: store.now() }
    const acts = judge(seen, memory, times)
    const reasons = reasonsBefore(waiting, isPaused ? () => PAUSED : id => (mayAsk.has(id) ? ASKED : BEHIND))
    let nodes: ReturnType<Allocator['nodes']> | undefined
    const looked = { waiting, own, isPaused, nodes: () => (nodes ??= allocator.nodes()) }
    for (const act of acts) {
      // A session that fails must not keep the others waiting.
      const reason = await carryOut(act, looked).catch((error: unknown) => noteFailed(act, error))
      if (reason && 'id' in act) reasons.set(act.id, reason)
    }
    for (const one of waiting) await write(one.written, reasons)
  }

  function noteFailed(act: Act, error: unknown): undefined {
    log.error({ err: error, ...act }, 'an allocation could not be followed; the next look tries again')
  }

  /** Releases what is left of groups that Slurm does not run any more: the last sessions ended right before that. */
  async function sweepRest(): Promise<void> {
    mayBeLeft ??= await hasAllocations(store.db)
    if (!mayBeLeft || (await listAllocatedGroups(store.db)).length > 0 || (await deps.isRestored())) return
    const allocations = await list.read()
    if (!allocations) return
    const sessions = await listAllocatedSessions(store.db, [])
    const left = surplus({ allocations, sessions }, namedBy)
    await release(left)
    mayBeLeft = left.length > 0
  }

  async function release(allocations: readonly Allocation[]): Promise<void> {
    for (const { name, identity, user } of allocations) {
      log.info({ name, job: identity.id }, 'an allocation is released: no session needs it')
      await allocator.release(identity.id, user).catch((error: unknown) => {
        log.warn(
          { err: error, name, job: identity.id },
          'an allocation could not be released; the next look tries again',
        )
      })
    }
  }

  async function explain(groups: readonly AllocatedGroup[], reason: Reason): Promise<void> {
    for (const { name } of groups) {
      const rows = await listPending(store.db, name)
      await write(new Map(rows.map(row => [row.id, row.reason])), new Map(rows.map(({ id }) => [id, reason])))
    }
  }

  async function write(
    written: ReadonlyMap<SessionId, Reason>,
    reasons: ReadonlyMap<SessionId, Reason>,
  ): Promise<void> {
    const news = [...reasons].filter(([id, { code, message }]) => {
      const last = written.get(id)
      return last && (last.code !== code || last.message !== message)
    })
    hint(await updateReasons(store.db, 'PENDING', new Map(news)))
  }

  const looks = startLooks({ look, pollMs, signal, log })
  return {
    trigger: () => looks.trigger(),
    settled: () => looks.settled(),
    async [Symbol.asyncDispose]() {
      closing.abort()
      await looks[Symbol.asyncDispose]()
    },
  }
}

/** Reasons of waiting sessions before the acts of a look. */
function reasonsBefore(
  waiting: readonly WaitingSessions[],
  ofStartable: (id: SessionId) => Reason,
): Map<SessionId, Reason> {
  return new Map(
    waiting.flatMap(({ startable, blocked }) => [
      ...[...startable].map(id => [id, ofStartable(id)] as const),
      ...blocked,
    ]),
  )
}
