import { setTimeout as wait } from 'node:timers/promises'
import { type AgentId, type Reason, type SessionId } from '#manager/contract'
import { ALL_JOBS, type JobLocks } from '../cluster/job-locks.ts'
import { type Log } from '../log.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { saveReservation } from '../store/quotas/resource-groups.ts'
import { listGroupsToSchedule, listPending } from '../store/sessions/queue.ts'
import { type Touched, updateReasons } from '../store/sessions/touches.ts'
import { commitPlacements } from './commit.ts'
import { type GroupSnapshot, partsOf, plan, type Placement, type Reservation } from './plan/index.ts'
import { type Interruptions } from './interruptions.ts'
import { PAUSED } from './pause.ts'
import { type ReadRights, withoutWithdrawn } from './rights.ts'
import { type PlacingPresence, readGroup } from './snapshot.ts'

export interface Scheduler extends AsyncDisposable {
  /**
   * Requests a pass soon, because something changed (a session was requested or ended, an agent changed). Consecutive calls share one pass.
   */
  trigger(): void
  /** Position in the queue: 1 = next; null when the session does not wait, or no plan has seen it yet. */
  positionOf(id: SessionId): number | null
  /** Resolves once the passes for all triggers so far are done. */
  settled(): Promise<void>
}

export interface SchedulerDeps {
  readonly store: Store
  readonly presence: PlacingPresence
  readonly rights: ReadRights
  /** Sends create_kernel; must not throw or delay the scheduler. */
  readonly start: (id: SessionId) => void
  /** Ends a session that can never start. */
  readonly cancel: (id: SessionId, reason: Reason) => Promise<void>
  readonly hint: (touched: readonly Touched[]) => void
  /** Carries out interruptions of sessions; left out: sessions are not interrupted. */
  readonly interruptions?: Interruptions
  readonly log: Log
  /** Interval of the passes that run even without a trigger, default 5 s. */
  readonly slowTickMs?: number
  /**
   * Decides which of several managers schedules a group: the one that holds its lock. The others also plan, to know the
   * queue, and write nothing.
   */
  readonly jobLocks?: JobLocks
  readonly isPaused?: () => Promise<boolean>
}

const SLOW_TICK_MS = 5_000
/** Number of positions that are reported live; those further back change with every start. */
const WATCHED_POSITIONS = 50
/**
 * Minimum pause of a manager that only reads a queue: LOOK_MS, or LOOK_SHARE times the duration of its last read, so that reading takes at
 * most a tenth of its time.
 */
const CHECK_EVERY_MS = 500
const CHECK_SHARE = 10
/** Longest pause between consecutive passes, e.g. while a thousand agents reconnect. The pause is as long as the last pass took. */
const LONGEST_REST_MS = 1_000

/** The job of scheduling a resource group; one manager holds its lock. */
export const schedulerJob = (group: string) => `scheduler ${group}`

/** Runs the scheduler's side effects in a loop: snapshot → plan → commit → create_kernel. The decision is in `plan/`. */
export function startScheduler(deps: SchedulerDeps): Scheduler {
  const {
    store,
    presence,
    rights,
    start,
    cancel,
    hint,
    interruptions,
    log,
    slowTickMs,
    jobLocks = ALL_JOBS,
    isPaused,
  } = deps
  const positions = new Map<string, ReadonlyMap<SessionId, number>>()
  // Last turn of each agent, for round robin. A restart of the manager restarts the turns.
  const turns = new Map<AgentId, number>()
  const closing = new AbortController()
  let wanted = false
  const isWanted = () => wanted
  let closed = false
  let running: Promise<void> = Promise.resolve()

  /** Time of the next read of each group that another manager schedules. A read costs as much as scheduling. */
  const lookAt = new Map<string, number>()
  /** A change that triggered a pass during a group's pause is handled at the end of the pause, not only at the next slow tick. */
  let atEndOfRest: NodeJS.Timeout | undefined
  function checkLater(ms: number): void {
    atEndOfRest ??= setTimeout(() => {
      atEndOfRest = undefined
      trigger()
    }, ms)
  }

  /** Timers for countdowns that end before the next slow tick; for later ones, a slow tick comes first. */
  const ends = new Set<NodeJS.Timeout>()
  function dueAt(ms: number): void {
    if (ms <= 0 || ms > (slowTickMs ?? SLOW_TICK_MS)) return
    const timer = setTimeout(() => {
      ends.delete(timer)
      trigger()
    }, ms)
    ends.add(timer)
  }

  async function tickGroup(group: string): Promise<void> {
    const since = performance.now()
    const mine = await jobLocks.take(schedulerJob(group))
    const rest = (lookAt.get(group) ?? 0) - since
    if (!mine && rest > 0) {
      checkLater(rest)
      return
    }
    const { snapshot: all, written, doomed, later, sequencer, selector } = await readGroup(store.db, group, presence)
    const rightsNow = await rights(store.db, { resourceGroup: group })
    const read = withoutWithdrawn(all, rightsNow)
    if (mine) for (const [id, reason] of [...doomed, ...rightsNow.doomed]) await cancel(id, reason)
    const snapshot: GroupSnapshot = {
      ...read,
      agents: read.agents.map(agent => ({ ...agent, turn: turns.get(agent.id) })),
    }
    const { placements, reasons: ofPlan, queue, reservation, interruption } = plan(snapshot, sequencer, selector)
    const reasons = new Map([...ofPlan, ...later, ...rightsNow.withdrawn])
    const before = positions.get(group)
    const now = new Map(queue.map((id, index) => [id, index + 1]))
    if (!mine)
      lookAt.set(group, performance.now() + Math.max(CHECK_EVERY_MS, CHECK_SHARE * (performance.now() - since)))
    // The connection that holds the lock may have been lost meanwhile; then another manager may hold it.
    if (!jobLocks.holds(schedulerJob(group))) return void positions.set(group, now)
    // Save the reservation before the placements: it must survive a crash right after them.
    if (!sameReservation(snapshot.reservation, reservation)) await saveReservation(store.db, group, reservation)
    await interruptions?.follow(group, snapshot, interruption)
    if (interruption) dueAt(interruption.at - (snapshot.now ?? 0))
    takeTurns(turns, placements)
    const committed = await commitPlacements(store, group, placements, {
      presence,
      rights,
      onCommitted(placed) {
        hint(placed)
        for (const { id } of placed) start(id)
      },
    })
    positions.set(group, now)
    hint(await updateReasons(store.db, 'PENDING', changedReasons({ reasons, written, before, now })))
    // The commit omitted placements, so the state has changed since the snapshot: run another pass.
    if (committed.length < placements.length) wanted = true
  }

  async function run(): Promise<void> {
    while (wanted && !closed) {
      wanted = false
      const since = performance.now()
      try {
        const groups = await listGroupsToSchedule(store.db)
        if (await isPaused?.()) {
          positions.clear()
          await explainPause(deps, groups)
          continue
        }
        for (const group of positions.keys()) if (!groups.includes(group)) positions.delete(group)
        for (const group of groups) {
          // A group that cannot be scheduled must not keep the others waiting.
          await tickGroup(group).catch((error: unknown) => {
            log.error({ err: error, group }, 'a resource group could not be scheduled; the next tick tries again')
          })
        }
      } catch (error) {
        log.error({ err: error }, 'scheduler pass failed; the next tick tries again')
      }
      const restMs = Math.min(LONGEST_REST_MS, performance.now() - since)
      if (isWanted()) await wait(restMs, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }

  let active = false
  const trigger = () => {
    wanted = true
    if (active || closed) return
    active = true
    running = onBehalfOfAll(run).finally(() => {
      active = false
      if (wanted) trigger()
    })
  }
  const timer = setInterval(trigger, slowTickMs ?? SLOW_TICK_MS)
  trigger()
  return {
    trigger,
    positionOf(id) {
      for (const group of positions.values()) {
        const position = group.get(id)
        if (position !== undefined) return position
      }
      return null
    },
    async settled() {
      while (active) await running
    },
    async [Symbol.asyncDispose]() {
      closed = true
      closing.abort()
      clearInterval(timer)
      await running
      clearTimeout(atEndOfRest)
      for (const timer of ends) clearTimeout(timer)
    },
  }
}

/** Gives every waiting session of these groups the reason that scheduling is paused. */
async function explainPause(
  { store, hint }: Pick<SchedulerDeps, 'store' | 'hint'>,
  groups: readonly string[],
): Promise<void> {
  for (const group of groups) {
    const waiting = await listPending(store.db, group)
    const news = waiting.filter(({ reason }) => reason.code !== PAUSED.code)
    hint(await updateReasons(store.db, 'PENDING', new Map(news.map(({ id }) => [id, PAUSED]))))
  }
}

function takeTurns(turns: Map<AgentId, number>, placements: readonly Placement[]): void {
  let last = Math.max(0, ...turns.values())
  for (const placement of placements) for (const { agentId } of partsOf(placement)) turns.set(agentId, ++last)
}

/** Compares devices by identity: a plan that keeps the reservation returns the very object that was read. */
function sameReservation(a: Reservation | undefined, b: Reservation | undefined): boolean {
  if (!a || !b) return a === b
  return a.sessionId === b.sessionId && a.agentId === b.agentId && a.devices === b.devices
}

interface Outcome {
  readonly reasons: ReadonlyMap<SessionId, Reason>
  /** Reasons in the database now. */
  readonly written: ReadonlyMap<SessionId, Reason>
  readonly before: ReadonlyMap<SessionId, number> | undefined
  readonly now: ReadonlyMap<SessionId, number>
}

/** Reasons to write: new and changed ones, and those of sessions that moved within the watched positions. */
function changedReasons({ reasons, written, before, now }: Outcome): ReadonlyMap<SessionId, Reason> {
  return new Map(
    [...reasons].filter(([id, reason]) => {
      const position = now.get(id) ?? 0
      const moved = position <= WATCHED_POSITIONS && before?.get(id) !== position
      const last = written.get(id)
      return moved || !last || reasonKey(last) !== reasonKey(reason)
    }),
  )
}

/** Key to compare reasons by. Slots are sorted, because jsonb does not keep the order of keys. */
function reasonKey({ code, message, needed, available, expectedBy }: Reason): string {
  return JSON.stringify([code, message, expectedBy, sorted(needed), sorted(available)])
}

function sorted(slots: Readonly<Record<string, unknown>> = {}) {
  return Object.entries(slots).toSorted(([a], [b]) => (a < b ? -1 : 1))
}
