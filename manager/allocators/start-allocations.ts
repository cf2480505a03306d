import { setTimeout as wait } from 'node:timers/promises'
import {
  type AgentId,
  AppError,
  because,
  type Because,
  choiceText,
  type KernelId,
  type ManagerId,
  type Reason,
  reasonOf,
  type SessionId,
} from '#manager/contract'
import { ALL_JOBS, type JobLocks } from '../cluster/job-locks.ts'
import { type Log } from '../log.ts'
import { commitPlacements } from '../scheduler/commit.ts'
import { PAUSED } from '../scheduler/pause.ts'
import { type PendingSession, totalOf } from '../scheduler/plan/index.ts'
import { schedulerJob } from '../scheduler/tick.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type AgentRow } from '../store/agents/agents.ts'
import {
  type AllocatedGroup,
  type AllocatedSession,
  hasAllocations,
  listAllocatedGroups,
  listAllocatedSessions,
  listEngineUsers,
  recordGrant,
  recordRequest,
  setSlurmEnd,
} from '../store/sessions/allocations.ts'
import { listRunningKernels } from '../store/sessions/interruptions.ts'
import { listPending } from '../store/sessions/queue.ts'
import { type Touched, updateReasons } from '../store/sessions/touches.ts'
import { type Allocation, type AllocationRequest, type Allocator } from './allocator.ts'
import {
  type Act,
  actOnEnd,
  ASKED,
  createMemory,
  judge,
  JUDGE_TIMES,
  type JudgeTimes,
  NOT_KNOWN,
  surplus,
} from './judge.ts'
import { nameOf, prefixOf, sessionOf } from './names.ts'
import { nodeOf, placementOn } from './place.ts'
import { gpuRequest } from './gpu-request.ts'
import { createPreemptions, type PreemptionsDeps } from './preemptions.ts'
import { jobSettings } from './slurm/job-settings.ts'
import { type ReadWaitingDeps, readWaiting, type WaitingSessions } from './read-waiting.ts'

/** Runs the resource groups whose engine is not Berth. */
export interface Allocations extends AsyncDisposable {
  /** Requests a look at the engine soon, because something changed. Consecutive calls share one look. */
  trigger(): void
  /** Resolves once the looks for all triggers so far are done. */
  settled(): Promise<void>
}

export interface AllocationsDeps extends ReadWaitingDeps, PreemptionsDeps {
  readonly managerId: ManagerId
  /** Ends its calls in progress when the signal aborts. */
  readonly allocatorFor: (signal: AbortSignal) => Allocator
  /** Sends create_kernel. */
  readonly start: (id: SessionId) => void
  /** Cancels a session that can never start. */
  readonly cancel: (id: SessionId, reason: Reason) => Promise<void>
  /** Ends a session that has lost its allocation; does nothing if it waits by now and did not before, or the other way round. */
  readonly end: (id: SessionId, reason: Reason, of: { readonly isWaiting: boolean }) => Promise<void>
  /**
   * Tells a container when its session ends, or (null) that it does not. Safe to repeat. @throws AppError `agent_unreachable`, `bad_request`
   * (an agent of an earlier version)
   */
  readonly warn: (
    agentId: AgentId,
    kernelId: KernelId,
    notice: {
      readonly at: string | null
      /** Whether the session is interrupted then, and continues later. */
      readonly continues: boolean
    },
  ) => Promise<void>
  readonly jobLocks?: JobLocks
  readonly isPaused: () => Promise<boolean>
  /** Whether the database is older than what runs, because a backup was restored. */
  readonly isRestored: () => Promise<boolean>
  readonly log: Log
  /** Interval of the looks at the engine. */
  readonly pollMs?: number
  readonly times?: Partial<JudgeTimes>
  /** A grant on which the session cannot be placed for this long is given back. */
  readonly giveUpMs?: number
  /** Most requests of a group that wait at the engine. */
  readonly mostWaiting?: number
}

/** A look at the engine. */
interface Looked {
  readonly waiting: readonly WaitingSessions[]
  /** Sessions of the groups for which this process acts. */
  readonly own: readonly AllocatedSession[]
  readonly isPaused: boolean
  /** Nodes of the engine, asked for once in a look. */
  readonly nodes: Allocator['nodes']
}

const POLL_MS = 5_000
/** Shortest pause between two looks, as a part of the interval. */
const REST_SHARE = 5
const GIVE_UP_MS = 120_000
/** Requests of a group that wait at the engine: each has a process on this host. */
const MOST_WAITING = 100

const BEHIND: Reason = { code: 'queued_behind', message: 'Sessions ahead in the queue start first.' }

/**
 * Keeps sessions and allocations in step, in a loop: look at the engine, read the sessions, judge, act. The decision is in `judge.ts`. Without a
 * complete answer of the engine nothing is started, ended or released. Of several managers, only the one that schedules a group acts for it.
 */
export function startAllocations(deps: AllocationsDeps): Allocations {
  const { store, managerId, presence, rights, hint, log, jobLocks = ALL_JOBS, pollMs = POLL_MS } = deps
  const times = { ...JUDGE_TIMES, ...deps.times }
  const giveUpMs = deps.giveUpMs ?? GIVE_UP_MS
  const mostWaiting = deps.mostWaiting ?? MOST_WAITING
  const closing = new AbortController()
  const allocator = deps.allocatorFor(closing.signal)
  const memory = createMemory()
  const preemptions = createPreemptions(deps)
  /** Waiting sessions whose GPUs no node had when they asked last. */
  const nowhere = new Set<SessionId>()
  /** Time of the first look without an answer. */
  let awaySince: Date | undefined
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
    const allocations = await list()
    if (!allocations) return explain(groups, awayReason(awaySince ?? new Date(store.now())))
    const isPaused = await deps.isPaused()
    const waiting = await Promise.all(groups.map(group => readWaiting(store.db, group, { presence, rights })))
    for (const { doomed } of waiting) for (const [id, reason] of doomed) await deps.cancel(id, reason)
    const sessions = await listAllocatedSessions(
      store.db,
      groups.map(({ name }) => name),
    )
    // The lock may have been lost while the engine was asked; then another manager may act already.
    if (!groups.every(({ name }) => jobLocks.holds(schedulerJob(name)))) return
    await release(surplus({ allocations, sessions }, name => sessionOf(managerId, name)))
    const own = sessions.filter(session => groups.some(({ name }) => name === session.resourceGroup))
    const mayAsk = isPaused ? new Set<SessionId>() : chooseAsking(waiting, own)
    const acts = judge(
      { allocations, sessions: own, mayAsk, nowMs: performance.now(), timeMs: store.now() },
      memory,
      times,
    )
    const reasons = new Map<SessionId, Reason>()
    for (const one of waiting) {
      for (const id of one.startable) reasons.set(id, isPaused ? PAUSED : mayAsk.has(id) ? ASKED : BEHIND)
      for (const [id, reason] of one.blocked) reasons.set(id, reason)
    }
    let nodes: ReturnType<Allocator['nodes']> | undefined
    const looked = { waiting, own, isPaused, nodes: () => (nodes ??= allocator.nodes()) }
    for (const act of acts) {
      // A session that fails must not keep the others waiting.
      const reason = await carryOut(act, looked).catch((error: unknown) => {
        log.error({ err: error, ...act }, 'an allocation could not be followed; the next look tries again')
        return undefined
      })
      if (reason && 'id' in act) reasons.set(act.id, reason)
    }
    for (const one of waiting) await write(one.written, reasons)
  }

  /** Releases what is left of groups that Slurm does not run any more: the last sessions ended right before that. */
  async function sweepRest(): Promise<void> {
    mayBeLeft ??= await hasAllocations(store.db)
    if (!mayBeLeft || (await listAllocatedGroups(store.db)).length > 0 || (await deps.isRestored())) return
    const allocations = await list()
    if (!allocations) return
    const sessions = await listAllocatedSessions(store.db, [])
    const left = surplus({ allocations, sessions }, name => sessionOf(managerId, name))
    await release(left)
    mayBeLeft = left.length > 0
  }

  async function list(): Promise<readonly Allocation[] | undefined> {
    const users = await listEngineUsers(store.db)
    try {
      if (!(await allocator.ping())) throw new Error('the controller of Slurm does not answer')
      const allocations = await allocator.list(prefixOf(managerId), users)
      if (awaySince) log.info({ since: awaySince }, 'Slurm answers again')
      awaySince = undefined
      return allocations
    } catch (error) {
      if (closing.signal.aborted) throw error
      if (!awaySince) log.warn({ err: error }, 'Slurm does not answer; nothing changes until it does')
      awaySince ??= new Date(store.now())
      return undefined
    }
  }

  /**
   * Sessions of each group that may request an allocation: those that have requested one, then the oldest of the others. Those that can get
   * none at present come last: they may wait for ever.
   */
  function chooseAsking(
    waiting: readonly WaitingSessions[],
    sessions: Awaited<ReturnType<typeof listAllocatedSessions>>,
  ) {
    const requested = sessions.filter(({ request }) => request && !request.granted)
    const isRefused = ({ request }: AllocatedSession) => request !== null && memory.refused.has(request.name)
    const refused = new Set(requested.filter(isRefused).map(({ id }) => id))
    const asked = new Set(requested.map(({ id }) => id))
    for (const id of nowhere) if (!waiting.some(({ startable }) => startable.has(id))) nowhere.delete(id)
    const rank = (id: SessionId) => (nowhere.has(id) || refused.has(id) ? 1 : asked.has(id) ? -1 : 0)
    return new Set(
      waiting.flatMap(({ startable }) => [...startable].toSorted((a, b) => rank(a) - rank(b)).slice(0, mostWaiting)),
    )
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

  /** @returns the reason that the session shows now; undefined = another part of Berth gives it one */
  async function carryOut(act: Act, looked: Looked): Promise<Reason | undefined> {
    const { waiting, own, isPaused } = looked
    switch (act.act) {
      case 'show':
        return act.reason
      case 'record':
        await recordGrant(store.db, act.name, act.identity)
        return undefined
      case 'until':
        hint(await setSlurmEnd(store.db, act.id, act.endsAt))
        return undefined
      case 'warn':
        await warn(act)
        return undefined
      case 'end':
        log.info({ id: act.id, reason: act.reason.message }, 'a session has lost its allocation')
        await deps.end(act.id, act.reason, { isWaiting: act.isWaiting })
        return undefined
      case 'announce':
        await preemptions.announce(act.id, act.at)
        return undefined
      case 'interrupt':
        await preemptions.interrupt(act.id)
        return undefined
      case 'lost': {
        const session = own.find(({ id }) => id === act.id)
        const end = await allocator.endOf(act)
        // The question was broken off: the next manager asks again.
        if (closing.signal.aborted) return undefined
        return session && carryOut(actOnEnd(session, end), looked)
      }
      case 'ask':
        return ask(act, looked)
      case 'place':
        return place(act, waiting, isPaused)
    }
  }

  /** A kernel that cannot be told now is told after the next look. */
  async function warn({ id, name, endsAt, continues }: Extract<Act, { act: 'warn' }>): Promise<void> {
    const kernels = await listRunningKernels(store.db, [id])
    if (kernels.length === 0 || !kernels.every(({ agentId }) => presence.isReady(agentId))) return
    if (endsAt) memory.warned.set(name, endsAt.getTime())
    else memory.warned.delete(name)
    for (const { kernelId, agentId } of kernels)
      // The look does not wait for it.
      void deps.warn(agentId, kernelId, { at: endsAt?.toISOString() ?? null, continues }).catch((error: unknown) => {
        // An agent of an earlier version learns nothing by a repetition.
        if (!(error instanceof AppError && error.code === 'bad_request')) memory.warned.set(name, NOT_KNOWN)
        log.warn({ err: error, id, kernelId }, 'a container could not be told that the job of its session ends')
      })
  }

  async function ask(
    { id, run }: { readonly id: SessionId; readonly run: number },
    { waiting, nodes }: Looked,
  ): Promise<Reason | undefined> {
    const of = waiting.find(({ pending }) => pending.has(id))
    const session = of?.pending.get(id)
    if (!of || !session) return undefined
    const name = nameOf(managerId, id, run)
    const place = await placeOf(session, of, nodes)
    if ('refused' in place) {
      nowhere.add(id)
      return reasonOf('allocation_refused', place.refused)
    }
    nowhere.delete(id)
    // Written before the request is made: a request that this process does not survive is found by its name.
    const user = of.userOf(session)
    if (!(await recordRequest(store.db, { sessionId: id, run, name, user }))) return undefined
    memory.followed.set(name, true)
    allocator.allocate(requestOf({ name, user, ...place }, session, of), words => {
      log.warn({ id, words }, 'Slurm refused to allocate resources for a session')
      memory.refused.set(name, words)
      trigger()
    })
    return ASKED
  }

  /** The nodes on which the session has to run, or has failed. Slurm refuses names that it does not know. */
  async function placeOf(
    session: PendingSession,
    { agents }: WaitingSessions,
    nodesOf: Allocator['nodes'],
  ): Promise<Pick<AllocationRequest, 'node' | 'exclude' | 'gpuType'> | { readonly refused: Because }> {
    const { onlyOn, failedAgents, gpu } = session
    if (onlyOn === undefined && failedAgents.length === 0 && !gpu) return {}
    const known = await nodesOf()
    const nodes = known.map(({ name }) => name)
    const chosen = gpu ? gpuRequest(session, known, agents) : { exclude: [] }
    if (!chosen) return { refused: because('slurm_gpus_nowhere', { gpu: choiceText(gpu ?? {}) }) }
    const nameOfNode = (agent: AgentRow | undefined) => agent && (nodeOf(agent, nodes) ?? agent.name)
    const { gpuType } = chosen
    if (onlyOn !== undefined) return { node: nameOfNode(agents.find(({ id }) => id === onlyOn)), gpuType }
    const failed = agents.filter(({ id }) => failedAgents.includes(id))
    // Where it has failed everywhere, any node will do again.
    const isElsewhere = agents.some(({ id }) => !failedAgents.includes(id) && presence.isReady(id))
    const others = isElsewhere ? failed.flatMap(agent => nodeOf(agent, nodes) ?? []) : []
    return { exclude: [...new Set([...chosen.exclude, ...others])], gpuType }
  }

  async function place(
    act: Extract<Act, { act: 'place' }>,
    waiting: readonly WaitingSessions[],
    isPaused: boolean,
  ): Promise<Reason | undefined> {
    const of = waiting.find(({ startable }) => startable.has(act.id))
    const session = of?.pending.get(act.id)
    const tried = of && session && !isPaused ? await commit(act, session, of) : undefined
    const reason = of && isPaused ? PAUSED : tried
    if (reason === 'placed') return undefined
    if (act.sinceMs >= giveUpMs) await giveBack(act.allocation)
    return reason
  }

  /** A grant that counts as used is released while its session waits, and another one is requested. */
  const giveBack = ({ name, identity }: Allocation) => recordGrant(store.db, name, identity)

  /** @returns why the session was not placed */
  async function commit(
    { allocation }: Extract<Act, { act: 'place' }>,
    session: PendingSession,
    { group, agents, isAble }: WaitingSessions,
  ): Promise<Reason | 'placed'> {
    const ready = agents.filter(({ id }) => presence.isReady(id))
    const found = placementOn(allocation.nodes, session, ready)
    if ('unmatched' in found) {
      if (found.isLasting) await giveBack(allocation)
      return reasonOf('allocation_unplaced', found.unmatched)
    }
    const node = allocation.nodes[0]?.name ?? ''
    if (!isAble(session, found.placement.agentId))
      return reasonOf('allocation_unplaced', because('slurm_host_unable', { node }))
    const placed: Touched[] = []
    const committed = await commitPlacements(store, group.name, [found.placement], {
      presence,
      rights,
      onCommitted(touched) {
        placed.push(...touched)
        hint(touched)
      },
    })
    if (committed.length === 0) return reasonOf('allocation_unplaced', because('slurm_host_full', { node }))
    // Before the start, because the container carries the number of its job.
    await recordGrant(store.db, allocation.name, allocation.identity)
    for (const { id } of placed) deps.start(id)
    return 'placed'
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

  let wanted = false
  let active = false
  let running: Promise<void> = Promise.resolve()
  const isWanted = () => wanted
  async function run(): Promise<void> {
    do {
      wanted = false
      await look().catch((error: unknown) => {
        if (!closing.signal.aborted)
          log.error({ err: error }, 'a look at the allocations failed; the next one tries again')
      })
      await wait(pollMs / REST_SHARE, undefined, { signal: closing.signal }).catch(() => undefined)
    } while (isWanted() && !closing.signal.aborted)
  }
  function trigger(): void {
    wanted = true
    if (active || closing.signal.aborted) return
    active = true
    running = onBehalfOfAll(run).finally(() => {
      active = false
      if (wanted) trigger()
    })
  }
  const timer = setInterval(trigger, pollMs)
  trigger()
  return {
    trigger,
    async settled() {
      while (active) await running
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      clearInterval(timer)
      await running
    },
  }
}

function requestOf(
  of: Pick<AllocationRequest, 'name' | 'user' | 'node' | 'exclude'>,
  session: PendingSession,
  { group }: WaitingSessions,
): AllocationRequest {
  const { cpu = 0, mem = 0, 'cuda.device': gpus = 0 } = totalOf(session)
  return {
    ...of,
    cpus: Math.max(1, Math.ceil(cpu / 1000)),
    memBytes: mem,
    gpus,
    settings: jobSettings(group.options.slurm ?? {}, session),
  }
}

const awayReason = (since: Date): Reason =>
  reasonOf('allocator_away', because('slurm_away', { time: since.toISOString() }))
