import {
  type AgentId,
  type KernelId,
  type ManagerId,
  type PullProgress,
  type Reason,
  type SessionId,
  type SessionStatus,
  toWireError,
} from '#manager/contract'
import { type KernelReport } from '#agent/contract'
import { type AgentLinks } from '../cluster/agent-links.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { adoptWaiting } from '../sessions/adopt.ts'
import { importContainer } from '../sessions/import.ts'
import { type Lifecycle } from '../sessions/lifecycle.ts'
import { type Change, type Effects, isStarting } from '../sessions/transition.ts'
import {
  findAgent,
  lockAgent,
  type ReportedState,
  saveReportedState,
  setAgent,
  setLastSeen,
  setProblem,
} from '../store/agents.ts'
import { replaceImages } from '../store/images.ts'
import { type KernelRow, listKernelsToReconcile, listSessionsOnAgent, noteKernelDone } from '../store/kernels.ts'
import { type StatsRecorder } from '../stats/recorder.ts'
import { type Store } from '../store/open-store.ts'
import { findSessionOfKernel, type KernelOwner, touchSessions } from '../store/sessions.ts'
import { type AgentListener, type Notice } from './gateway.ts'
import { type LiveFigures } from './live.ts'
import { type Action, reconcile } from './reconcile.ts'
import { sumStats } from './sum-stats.ts'

type Report = Extract<Notice, { type: 'report' }>

export interface ReportsDeps {
  readonly store: Store
  readonly managerId: ManagerId
  readonly events: EventPublisher
  readonly changes: SessionChanges
  readonly lifecycle: Lifecycle
  readonly live: LiveFigures
  /** Of the other managers. */
  readonly links: Pick<AgentLinks, 'isElsewhere' | 'wasElsewhere'>
  readonly recorder: Pick<StatsRecorder, 'add'>
  /** End of the log of a container that has ended; undefined if its agent does not say in time. */
  readonly lastLog: (agentId: AgentId, kernelId: KernelId) => Promise<string | undefined>
  readonly onImagePull: (agentId: AgentId, pullId: string, progress: PullProgress) => void
  /** After a restore: what agents have may be newer than what the database says. */
  readonly isRestored: () => Promise<boolean>
  /** An agent came, went, or changed: placements may be possible now. */
  readonly onAgentChanged: () => void
  readonly log: Log
}

/** Handles what agents tell, and knows which of them may be given work. */
export interface Reports extends Omit<AgentListener, 'came' | 'gone'> {
  /** Connected, reconciled at least once on this connection, and its engine answers. */
  isReady(agentId: AgentId): boolean
  /** Another manager went, or its turn came here: takes up what it may have left lying, on every agent that is ready. */
  takeOver(): Promise<void>
  /**
   * Takes up what an agent has said on being asked, as the whole truth on the kernels that ran before the question.
   * @returns what there was to do
   */
  takeUp(
    agentId: AgentId,
    reported: readonly KernelReport[],
    ranBefore: ReadonlySet<KernelId>,
  ): Promise<readonly Action[]>
}

const MAX_SKEW_MS = 5_000
/** `last_seen_at` is for the time after the connection is gone; writing it with every heartbeat would be a waste. */
const LAST_SEEN_EVERY_MS = 30_000
const PULL_HINT_EVERY_MS = 1_000
const ELSEWHERE_MS = 8_000

interface AgentMemory {
  ready: boolean
  missing: ReadonlySet<KernelId>
  /** Undefined until it was written once. */
  problem: string | null | undefined
  /** What was written last, to write only changes. */
  written: string
  writtenAt: number
  skewLogged: boolean
  /** Ends that may be part of a start at another manager: since when they are reported. */
  readonly endedSince: Map<string, number>
}

export function createReports(deps: ReportsDeps): Reports {
  const { store, managerId, events, changes, lifecycle, live, log } = deps
  const memories = new Map<AgentId, AgentMemory>()
  const owners = new Map<KernelId, KernelOwner>()
  /** When this process learned that a kernel runs, on the clock of `performance.now()`. */
  const startedAt = new Map<KernelId, number>()
  const pullHints = new Map<KernelId, number>()

  const memoryOf = (agentId: AgentId): AgentMemory => {
    const memory = memories.get(agentId) ?? {
      ready: false,
      missing: new Set<KernelId>(),
      problem: undefined,
      written: '',
      writtenAt: 0,
      skewLogged: false,
      endedSince: new Map<string, number>(),
    }
    memories.set(agentId, memory)
    return memory
  }

  async function onReport(agentId: AgentId, report: Report, arrivedAt: number): Promise<void> {
    const memory = memoryOf(agentId)
    checkSkew(memory, agentId, report)
    if (report.images) {
      const { images } = report
      await store.transaction(async trx => {
        // Every manager is told, and writes.
        await lockAgent(trx, agentId)
        await replaceImages(trx, agentId, images)
      })
      events.publish({ topic: 'image', id: agentId, version: Date.now() }, 'everyone')
    }
    const changed = await saveState(agentId, memory, report)
    // With its engine down an agent sees no containers; that says nothing about them.
    if (report.engine.reachable) {
      await applyReport(agentId, report.kernels, { complete: true, arrivedAt })
      if (!memory.ready) await becomeReady(agentId, memory)
    } else if (memory.ready) {
      memory.ready = false
      await touchSessionsOn(agentId)
    }
    if (changed || report.images) deps.onAgentChanged()
  }

  function checkSkew(memory: AgentMemory, agentId: AgentId, { clockMs }: Report): void {
    const skewMs = Math.round(clockMs - Date.now())
    if (Math.abs(skewMs) <= MAX_SKEW_MS || memory.skewLogged) return
    memory.skewLogged = true
    log.warn({ agentId, skewMs }, 'the clock of this agent differs; times in its logs will, too')
  }

  async function saveState(agentId: AgentId, memory: AgentMemory, report: Report): Promise<boolean> {
    const state: ReportedState = {
      capacity: report.capacity,
      devices: report.devices,
      networkIsolation: report.network.isolation,
      networkIsolationReason: report.network.reason,
      version: report.version,
      engineVersion: report.engine.version,
    }
    const text = JSON.stringify(state)
    const now = Date.now()
    if (memory.written !== text) {
      const version = await saveReportedState(store.db, agentId, state)
      if (version === undefined) return false
      Object.assign(memory, { written: text, writtenAt: now })
      events.publish({ topic: 'agent', id: agentId, version }, 'superadmins')
      publishResources()
      return true
    }
    if (now - memory.writtenAt > LAST_SEEN_EVERY_MS) {
      memory.writtenAt = now
      await setLastSeen(store.db, agentId)
    }
    return false
  }

  async function applyReport(
    agentId: AgentId,
    reported: readonly KernelReport[],
    { complete, arrivedAt }: { complete: boolean; arrivedAt: number },
  ): Promise<void> {
    const memory = memoryOf(agentId)
    const ids = reported.map(report => report.kernelId)
    if (complete && (await deps.isRestored())) {
      const resourceGroup = (await findAgent(store.db, agentId))?.resource_group ?? 'default'
      changes.hint(await adoptWaiting(store, { agentId, managerId, resourceGroup }, reported))
    }
    const known = await listKernelsToReconcile(store.db, agentId, ids)
    const { actions, missing } = reconcile({
      agentId,
      managerId,
      known,
      reported,
      complete,
      startedSince: kernelId => (startedAt.get(kernelId) ?? -Infinity) >= arrivedAt,
      missingBefore: memory.missing,
    })
    memory.missing = missing
    const failed = await actOnAll(agentId, actions, !memory.ready)
    if (complete || failed) await tellProblem(agentId, memory, failed)
  }

  /** What cannot be taken up is for its admin to see, until a whole report was. */
  async function tellProblem(agentId: AgentId, memory: AgentMemory, problem: string | null): Promise<void> {
    if (memory.problem === problem) return
    const version = await setProblem(store.db, agentId, problem)
    memory.problem = problem
    if (version !== undefined) events.publish({ topic: 'agent', id: agentId, version }, 'superadmins')
  }

  /** @returns what could not be taken up, if anything */
  async function actOnAll(agentId: AgentId, actions: readonly Action[], first: boolean): Promise<string | null> {
    let failed: string | null = null
    for (const action of actions) {
      // One that cannot be carried out must not keep the others, and the agent, from their work; the next report repeats it.
      await act(agentId, action, first).catch((error: unknown) => {
        log.error({ err: error, agentId, action }, 'what an agent reported of a kernel could not be taken up')
        const kernelId = action.do === 'import' ? action.label.kernelId : 'kernelId' in action ? action.kernelId : ''
        failed = `Kernel ${kernelId} (${action.do}): ${toWireError(error).message}. It is tried again with its next report.`
      })
    }
    return failed
  }

  async function takeUp(
    agentId: AgentId,
    reported: readonly KernelReport[],
    ranBefore: ReadonlySet<KernelId>,
  ): Promise<readonly Action[]> {
    const ids = reported.map(report => report.kernelId)
    const { actions } = reconcile({
      agentId,
      managerId,
      known: await listKernelsToReconcile(store.db, agentId, ids),
      reported,
      complete: true,
      startedSince: kernelId => !ranBefore.has(kernelId),
      missingBefore: ranBefore,
    })
    await actOnAll(agentId, actions, false)
    return actions
  }

  async function act(agentId: AgentId, action: Action, first: boolean): Promise<void> {
    switch (action.do) {
      case 'phase':
        return setPhase(action)
      case 'running': {
        const adopted: Reason = { code: 'adopted', message: 'Found running on its agent after a restart.' }
        const started: Reason = { code: 'started', message: 'Its container runs.' }
        return lifecycle.markRunning(action.sessionId, { ...action, reason: first ? adopted : started })
      }
      case 'ended': {
        // The reply to create_kernel decides first whether this was a start at all.
        if (lifecycle.isStartInFlight(action.kernelId) || startsElsewhere(agentId, action)) return
        const { exit, attempt } = action
        // With its end: who waits for that reads it next.
        const logTail = await deps.lastLog(agentId, action.kernelId)
        await end(agentId, action, { attempt, reason: exitReason(exit), exitCode: exit.exitCode, logTail })
        lifecycle.cleanUp(agentId, action.kernelId, attempt)
        return
      }
      case 'gone': {
        const restored = await deps.isRestored()
        const message = restored
          ? 'It ran when the backup was made; its container is not there any more.'
          : 'Its container disappeared from its agent without the manager ending it.'
        await end(agentId, action, {
          attempt: action.attempt,
          reason: { code: restored ? 'lost_by_restore' : 'container_gone', message },
        })
        // Network and scratch of the session are still there.
        lifecycle.cleanUp(agentId, action.kernelId, action.attempt)
        return
      }
      case 'destroy':
        lifecycle.cleanUp(agentId, action.kernelId, action.attempt)
        return
      case 'import':
        return importRunning(agentId, action)
    }
  }

  async function setPhase({ sessionId, attempt, phase }: Extract<Action, { do: 'phase' }>): Promise<void> {
    await changes.apply(sessionId, state => {
      if (state.attempt !== attempt) return undefined
      if (phase === 'pulling' && state.status === 'PREPARING') {
        return { to: 'PULLING', reason: { code: 'image_missing', message: 'Its agent is pulling the image.' } }
      }
      if (phase === 'preparing' && state.status === 'PULLING') {
        return { to: 'PREPARING', reason: { code: 'image_pulled', message: 'The image is there.' } }
      }
      return undefined
    })
  }

  async function end(
    agentId: AgentId,
    { sessionId, kernelId }: { sessionId: SessionId; kernelId: KernelId },
    words: { attempt: number; reason: Reason; exitCode?: number; logTail?: string | undefined },
  ): Promise<void> {
    const { attempt, reason, exitCode, logTail } = words
    if (exitCode === 0 && (await noteKernelDone(store.db, kernelId, { attempt, agentId }))) {
      changes.hint(await touchSessions(store.db, [sessionId]))
      deps.onAgentChanged()
      return
    }
    const applied = await changes.apply(sessionId, state =>
      state.agentId === agentId && state.attempt === attempt && (state.status === 'RUNNING' || isStarting(state.status))
        ? { ...endOf(state.kernels, { kernelId, reason, exitCode }), logTail }
        : undefined,
    )
    if (applied?.to === 'TERMINATING') lifecycle.finishTermination(sessionId)
  }

  async function importRunning(agentId: AgentId, action: Extract<Action, { do: 'import' }>): Promise<void> {
    const { label, containerId, startedAt } = action
    const agent = await findAgent(store.db, agentId)
    const resourceGroup = agent?.resource_group ?? label.resourceGroup
    const outcome = await importContainer(store, events, { agentId, resourceGroup, label, containerId, startedAt })
    const { sessionId, kernelId } = label
    const what = { audit: true, agentId, sessionId, kernelId, containerId, owner: label.owner.email }
    if (outcome === 'imported') log.warn(what, 'container without a record imported')
    else if (outcome === 'no_owner') log.warn(what, 'container without a record left alone: nobody it could belong to')
    else if (outcome === 'not_of_its_session') {
      log.warn(what, 'container ended: the session that it names has no such kernel')
      lifecycle.cleanUp(agentId, kernelId, label.attempt)
    }
  }

  /**
   * The same, where the start may be another manager's: that one gets some time to hear the reply. Whether it is a start is
   * not known here, so it is taken for one until the end has been reported for as long.
   */
  function startsElsewhere(agentId: AgentId, { kernelId, attempt }: Extract<Action, { do: 'ended' }>): boolean {
    if (!deps.links.wasElsewhere(agentId) || startedAt.has(kernelId)) return false
    const { endedSince } = memoryOf(agentId)
    const key = `${kernelId} ${attempt}`
    const since = endedSince.get(key) ?? performance.now()
    endedSince.set(key, since)
    return performance.now() - since < ELSEWHERE_MS
  }

  /** From here on the agent takes work: take up what was left lying when it, or the manager, went away. */
  async function becomeReady(agentId: AgentId, memory: AgentMemory): Promise<void> {
    memory.ready = true
    await takeUpWork(agentId)
    await touchSessionsOn(agentId)
    deps.onAgentChanged()
  }

  async function takeUpWork(agentId: AgentId): Promise<void> {
    for (const { sessionId, status } of await listSessionsOnAgent(store.db, agentId)) {
      if (isStarting(status)) lifecycle.start(sessionId)
      else if (status === 'TERMINATING') lifecycle.finishTermination(sessionId)
    }
  }

  /** Whether a session is reachable is part of what clients show. */
  async function touchSessionsOn(agentId: AgentId): Promise<void> {
    const sessions = await listSessionsOnAgent(store.db, agentId)
    changes.hint(
      await touchSessions(
        store.db,
        sessions.map(session => session.sessionId),
      ),
    )
  }

  /** Whose kernel it is, if it is one of this agent: what another says of it does not count. */
  async function ownerOf(agentId: AgentId, kernelId: KernelId) {
    const known = owners.get(kernelId)
    if (known?.agentId === agentId) return known
    const found = await findSessionOfKernel(store.db, kernelId)
    if (found?.agentId !== agentId) return undefined
    owners.set(kernelId, found)
    return found
  }

  async function onPull(agentId: AgentId, kernelId: KernelId, progress: PullProgress): Promise<void> {
    const session = await ownerOf(agentId, kernelId)
    if (!session) return
    live.setPull(kernelId, progress)
    const now = Date.now()
    if (now - (pullHints.get(kernelId) ?? 0) < PULL_HINT_EVERY_MS) return
    pullHints.set(kernelId, now)
    changes.hint(await touchSessions(store.db, [session.sessionId]))
  }

  /** Told once per round, with the main kernel's; of the others what they have said last. */
  function sumOf({ role, siblings }: KernelOwner) {
    return role === 'main1' ? sumStats(siblings.flatMap(id => live.stats(id) ?? [])) : null
  }

  function publishResources(): void {
    events.publish({ topic: 'resources', id: 'all', version: Date.now() }, 'everyone')
  }

  changes.onApplied(({ kernelIds, from, to, effects, remote }) => {
    if (!remote && (from === 'SCHEDULED' || effects.freed)) publishResources()
    for (const kernelId of kernelIds) forgetKernel(kernelId, to, effects)
  })

  function forgetKernel(kernelId: KernelId, to: SessionStatus, effects: Effects): void {
    if (effects.freed) owners.delete(kernelId)
    if (to === 'RUNNING') startedAt.set(kernelId, performance.now())
    if (to === 'RUNNING' || effects.freed) {
      live.forgetPull(kernelId)
      pullHints.delete(kernelId)
    }
    if (!effects.ended) return
    live.forget(kernelId)
    startedAt.delete(kernelId)
  }

  return {
    isReady: agentId => memories.get(agentId)?.ready ?? false,
    takeUp,
    connected(agentId) {
      // A fresh memory: what an earlier connection told proves nothing about this one.
      memories.delete(agentId)
      return Promise.resolve()
    },
    async message(agentId, message, arrivedAt) {
      switch (message.type) {
        case 'report':
          return onReport(agentId, message, arrivedAt)
        case 'kernel_changed':
          return applyReport(agentId, [message.kernel], { complete: false, arrivedAt })
        case 'pull':
          return onPull(agentId, message.kernelId, message.progress)
        case 'image_pull':
          deps.onImagePull(agentId, message.pullId, message.progress)
          return
        case 'stats':
          for (const { kernelId, stats } of message.kernels) {
            const session = await ownerOf(agentId, kernelId)
            if (!session) continue
            live.addStats(kernelId, stats)
            deps.recorder.add(session.sessionId, kernelId, stats)
            const summed = session.siblings.length === 1 ? stats : sumOf(session)
            if (summed) events.publishStats(session.sessionId, session, summed)
          }
          return
      }
    },
    async disconnected(agentId) {
      memories.delete(agentId)
      deps.onAgentChanged()
      await touchSessionsOn(agentId)
    },
    async takeOver() {
      for (const [agentId, { ready }] of memories) if (ready) await takeUpWork(agentId)
    },
    async lost(agentId) {
      memories.delete(agentId)
      if (await deps.links.isElsewhere(agentId)) return
      const agent = await setAgent(store.db, agentId, { status: 'LOST' })
      if (!agent) return
      log.warn({ agentId, name: agent.name }, 'agent lost')
      events.publish({ topic: 'agent', id: agentId, version: agent.row_version }, 'superadmins')
      publishResources()
      await touchSessionsOn(agentId)
      deps.onAgentChanged()
    },
  }
}

/** A session ends with any of its kernels, except one beside the main one that has done its work (exit code 0). */
function endOf(
  kernels: readonly KernelRow[],
  { kernelId, reason, exitCode }: { kernelId: KernelId; reason: Reason; exitCode: number | undefined },
): Change {
  if (kernels.length === 1) return { to: 'TERMINATED', reason, exitCode }
  const role = kernels.find(kernel => kernel.id === kernelId)?.role ?? 'one'
  // The others still run: it has ended once they are taken down.
  const message = `Kernel ${role} ended, and the session with it. ${reason.message}`
  return { to: 'TERMINATING', reason: { ...reason, message }, kernelId, exitCode }
}

function exitReason(exit: { exitCode: number; oomKilled: boolean; engineRestarted: boolean }): Reason {
  if (exit.oomKilled) {
    return {
      code: 'oom_killed',
      message: 'It used more memory than it had and was stopped by the kernel. Ask for more RAM.',
    }
  }
  if (exit.engineRestarted) {
    return { code: 'engine_restarted', message: 'Its Docker Engine, or the machine, restarted and took it along.' }
  }
  return { code: 'exited', message: `Its main process ended with exit code ${exit.exitCode}.` }
}
