import {
  type AgentId,
  type KernelId,
  type ManagerId,
  type PullProgress,
  type Reason,
  type SessionId,
  type UserId,
} from '#manager/contract'
import { type KernelReport } from '#agent/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { importContainer } from '../sessions/import.ts'
import { type Lifecycle } from '../sessions/lifecycle.ts'
import { isStarting } from '../sessions/transition.ts'
import { findAgent, type ReportedState, saveReportedState, setAgent, setLastSeen } from '../store/agents.ts'
import { replaceImages } from '../store/images.ts'
import { listKernelsToReconcile, listSessionsOnAgent } from '../store/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { findSessionOfKernel, touchSessions } from '../store/sessions.ts'
import { type AgentListener, type Notice } from './gateway.ts'
import { type LiveFigures } from './live.ts'
import { type Action, reconcile } from './reconcile.ts'

type Report = Extract<Notice, { type: 'report' }>

export interface ReportsDeps {
  readonly store: Store
  readonly managerId: ManagerId
  readonly events: EventPublisher
  readonly changes: SessionChanges
  readonly lifecycle: Lifecycle
  readonly live: LiveFigures
  /** An agent came, went, or changed: placements may be possible now. */
  readonly onAgentChanged: () => void
  readonly log: Log
}

/** Handles what agents tell, and knows which of them may be given work. */
export interface Reports extends Omit<AgentListener, 'gone'> {
  /** Connected, reconciled at least once on this connection, and its engine answers. */
  isReady(agentId: AgentId): boolean
}

const MAX_SKEW_MS = 5_000
/** `last_seen_at` is for the time after the connection is gone; writing it with every heartbeat would be a waste. */
const LAST_SEEN_EVERY_MS = 30_000
const PULL_HINT_EVERY_MS = 1_000

interface AgentMemory {
  ready: boolean
  missing: ReadonlySet<KernelId>
  /** What was written last, to write only changes. */
  written: string
  writtenAt: number
  skewLogged: boolean
}

export function createReports(deps: ReportsDeps): Reports {
  const { store, managerId, events, changes, lifecycle, live, log } = deps
  const memories = new Map<AgentId, AgentMemory>()
  const owners = new Map<KernelId, { agentId: AgentId | null; sessionId: SessionId; ownerId: UserId }>()
  /** When this process learned that a kernel runs, on the clock of `performance.now()`. */
  const startedAt = new Map<KernelId, number>()
  const pullHints = new Map<KernelId, number>()

  const memoryOf = (agentId: AgentId): AgentMemory => {
    const memory = memories.get(agentId) ?? {
      ready: false,
      missing: new Set<KernelId>(),
      written: '',
      writtenAt: 0,
      skewLogged: false,
    }
    memories.set(agentId, memory)
    return memory
  }

  async function onReport(agentId: AgentId, report: Report, arrivedAt: number): Promise<void> {
    const memory = memoryOf(agentId)
    checkSkew(memory, agentId, report)
    if (report.images) {
      const { images } = report
      await store.transaction(trx => replaceImages(trx, agentId, images))
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
    for (const action of actions) {
      // One that cannot be carried out must not keep the others, and the agent, from their work; the next report repeats it.
      await act(agentId, action, !memory.ready).catch((error: unknown) => {
        log.error({ err: error, agentId, action }, 'what an agent reported of a kernel could not be taken up')
      })
    }
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
        if (lifecycle.isStartInFlight(action.kernelId)) return
        const { exit, attempt } = action
        await end(agentId, action, { attempt, reason: exitReason(exit), exitCode: exit.exitCode })
        lifecycle.cleanUp(agentId, action.kernelId, attempt)
        return
      }
      case 'gone': {
        const message = 'Its container disappeared from its agent without the manager ending it.'
        await end(agentId, action, { attempt: action.attempt, reason: { code: 'container_gone', message } })
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
    { sessionId }: { sessionId: SessionId },
    { attempt, reason, exitCode }: { attempt: number; reason: Reason; exitCode?: number },
  ): Promise<void> {
    await changes.apply(sessionId, state =>
      state.agentId === agentId && state.attempt === attempt && (state.status === 'RUNNING' || isStarting(state.status))
        ? { to: 'TERMINATED', reason, exitCode }
        : undefined,
    )
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

  /** From here on the agent takes work: take up what was left lying when it, or the manager, went away. */
  async function becomeReady(agentId: AgentId, memory: AgentMemory): Promise<void> {
    memory.ready = true
    for (const { sessionId, status } of await listSessionsOnAgent(store.db, agentId)) {
      if (isStarting(status)) lifecycle.start(sessionId)
      else if (status === 'TERMINATING') lifecycle.finishTermination(sessionId)
    }
    await touchSessionsOn(agentId)
    deps.onAgentChanged()
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

  function publishResources(): void {
    events.publish({ topic: 'resources', id: 'all', version: Date.now() }, 'everyone')
  }

  changes.onApplied(({ kernelId, from, to, effects }) => {
    if (effects.freed) owners.delete(kernelId)
    if (from === 'SCHEDULED' || effects.freed) publishResources()
    if (to === 'RUNNING') startedAt.set(kernelId, performance.now())
    if (to === 'RUNNING' || effects.freed) {
      live.forgetPull(kernelId)
      pullHints.delete(kernelId)
    }
    if (!effects.ended) return
    live.forget(kernelId)
    startedAt.delete(kernelId)
  })

  return {
    isReady: agentId => memories.get(agentId)?.ready ?? false,
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
        case 'stats':
          for (const { kernelId, stats } of message.kernels) {
            const session = await ownerOf(agentId, kernelId)
            if (!session) continue
            live.addStats(kernelId, stats)
            events.publishStats(session.sessionId, session.ownerId, stats)
          }
          return
      }
    },
    async disconnected(agentId) {
      memories.delete(agentId)
      deps.onAgentChanged()
      await touchSessionsOn(agentId)
    },
    async lost(agentId) {
      memories.delete(agentId)
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
