import { type AgentId, type KernelId, type Reason, type SessionId, toWireError } from '#manager/contract'
import { type AgentLinks } from '../cluster/agent-links.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { importContainer } from '../sessions/import.ts'
import { type Lifecycle, PREPARING, STARTED } from '../sessions/lifecycle.ts'
import { type Change, isStarting } from '../sessions/transition.ts'
import { findAgent } from '../store/agents/agents.ts'
import { extendStartBy, type KernelRow } from '../store/sessions/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { findSession, updateReasons } from '../store/sessions/sessions.ts'
import { type LiveFigures } from '../stats/live.ts'
import { type Action } from './reconcile.ts'

export interface ActingDeps {
  readonly store: Store
  readonly events: EventPublisher
  readonly changes: SessionChanges
  readonly lifecycle: Lifecycle
  /** Of the other managers. */
  readonly links: Pick<AgentLinks, 'isElsewhere' | 'wasElsewhere'>
  /** End of the log of a container that has ended; undefined if its agent does not say in time. */
  readonly lastLog: (agentId: AgentId, kernelId: KernelId) => Promise<string | undefined>
  /** After a restore: what agents have may be newer than what the database says. */
  readonly isRestored: () => Promise<boolean>
  /** How long an agent may take to start a container once its turn has come, with the time that its answer takes. */
  readonly prepareWithinMs: number
  /** An agent came, went, or changed: placements may be possible now. */
  readonly onAgentChanged: () => void
  readonly log: Log
}

/** What this process remembers of agents and their kernels. */
export interface ActingMemory {
  /** Ends that may be part of a start at another manager: since when they are reported. */
  readonly endedSince: (agentId: AgentId) => Map<string, number>
  /** This process has learned that the kernel runs. */
  readonly isKnownToRun: (kernelId: KernelId) => boolean
  /** Of kernels whose agent said last that it pulls the image for them: the attempt. */
  readonly pulling: Map<KernelId, number>
  readonly live: Pick<LiveFigures, 'setWaiting' | 'sinceWaitingMs'>
}

/** What could not be carried out; the next report repeats it. */
export interface Failed {
  /** For an admin: the last of it. */
  readonly problem: string | null
  readonly kernelIds: readonly KernelId[]
}

const ELSEWHERE_MS = 8_000

/**
 * Carries out what reconciliation of a report has found: sessions go on, end, or are imported.
 *
 * @returns a function that does so with every action; `first` says that the agent was not ready before
 */
export function createActing(deps: ActingDeps & ActingMemory) {
  const { store, events, changes, lifecycle, log } = deps
  /** By kernel and attempt: ends that are told while the start is in flight. */
  const endsBeforeStart = new Set<string>()

  async function actOnAll(agentId: AgentId, actions: readonly Action[], first: boolean): Promise<Failed> {
    let problem: string | null = null
    const kernelIds: KernelId[] = []
    // All of them first: what becomes of a session must not depend on which of its kernels is told of first.
    for (const action of actions) if (action.do === 'phase') notePhase(action)
    for (const action of actions) {
      // One that cannot be carried out must not keep the others, and the agent, from their work; the next report repeats it.
      await act(agentId, action, first).catch((error: unknown) => {
        log.error({ err: error, agentId, action }, 'what an agent reported of a kernel could not be taken up')
        const { kernelId } = action.do === 'import' ? action.label : action
        kernelIds.push(kernelId)
        problem = `Kernel ${kernelId} (${action.do}): ${toWireError(error).message}. It is tried again with its next report.`
      })
    }
    return { problem, kernelIds }
  }

  async function act(agentId: AgentId, action: Action, first: boolean): Promise<void> {
    switch (action.do) {
      case 'phase':
        await setPhase(action)
        return noteTurn(agentId, action)
      case 'running': {
        const adopted: Reason = { code: 'adopted', message: 'Found running on its agent after a restart.' }
        return lifecycle.markRunning(action.sessionId, { ...action, reason: first ? adopted : STARTED })
      }
      case 'ended': {
        if (waitsForStart(agentId, action) || startsElsewhere(agentId, action)) return
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
          : 'The container disappeared from its host without the manager ending it.'
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

  function notePhase({ kernelId, attempt, phase }: Extract<Action, { do: 'phase' }>): void {
    if (phase === 'pulling') deps.pulling.set(kernelId, attempt)
    else deps.pulling.delete(kernelId)
  }

  /** A session is PULLING while any of its kernels pulls. */
  async function setPhase({ sessionId, kernelId, attempt, phase }: Extract<Action, { do: 'phase' }>): Promise<void> {
    await changes.apply(sessionId, state => {
      if (state.attempt !== attempt || !isStarting(state.status)) {
        // Told after that start was over: nothing would forget it.
        if (deps.pulling.get(kernelId) === attempt) deps.pulling.delete(kernelId)
        return undefined
      }
      if (phase === 'pulling' && state.status === 'PREPARING') {
        return { to: 'PULLING', reason: { code: 'image_missing', message: 'Its agent is pulling the image.' } }
      }
      const pulls = state.kernels.some(({ id, status }) => isStarting(status) && deps.pulling.get(id) === attempt)
      if (phase === 'preparing' && state.status === 'PULLING' && !pulls) {
        return { to: 'PREPARING', reason: { code: 'image_pulled', message: 'The image is there.' } }
      }
      return undefined
    })
  }

  /** The session is told how many starts come before its own, and its deadline does not run meanwhile. */
  async function noteTurn(agentId: AgentId, action: Extract<Action, { do: 'phase' }>): Promise<void> {
    const { sessionId, kernelId, attempt, ahead } = action
    const waited = deps.live.sinceWaitingMs([kernelId]) !== undefined
    if (ahead === undefined && !waited) return
    const session = await findSession(store.db, sessionId)
    if (session?.status !== 'PREPARING' || session.attempt !== attempt) return
    if (ahead !== undefined) {
      deps.live.setWaiting(kernelId)
      // The agent gives it up no later than that after a report that it knows to be taken up.
      await extendStartBy(store.db, kernelId, deps.prepareWithinMs)
    }
    const message = ahead === undefined ? PREPARING : waitsFor(ahead, (await findAgent(store.db, agentId))?.name)
    if (session.reason.message === message) return
    const reason: Reason = { code: ahead === undefined ? 'create_sent' : 'starting_soon', message }
    changes.hint(await updateReasons(store.db, 'PREPARING', new Map([[sessionId, reason]])))
  }

  async function end(
    agentId: AgentId,
    { sessionId, kernelId }: { sessionId: SessionId; kernelId: KernelId },
    words: { attempt: number; reason: Reason; exitCode?: number; logTail?: string | undefined },
  ): Promise<void> {
    const { attempt, reason, exitCode, logTail } = words
    if (exitCode === 0 && (await lifecycle.markDone(sessionId, { kernelId, attempt, agentId }))) {
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
    const capacity = agent?.capacity ?? {}
    const found = { agentId, resourceGroup, label, containerId, startedAt, capacity }
    const outcome = await importContainer(store, events, found)
    const { sessionId, kernelId } = label
    const what = { audit: true, agentId, sessionId, kernelId, containerId, owner: label.owner.email }
    if (outcome === 'imported') log.warn(what, 'container without a record imported')
    else if (outcome === 'too_large')
      log.warn(what, 'container without a record left alone: it holds more than its agent has')
    else if (outcome === 'no_owner') log.warn(what, 'container without a record left alone: nobody it could belong to')
    else if (outcome === 'not_of_its_session') {
      log.warn(what, 'container ended: the session that it names has no such kernel')
      lifecycle.cleanUp(agentId, kernelId, label.attempt)
    }
  }

  /**
   * The reply to create_kernel decides first whether this was a start at all. A short job ends before that is written: its
   * end is taken up right after, and not with the next heartbeat.
   */
  function waitsForStart(agentId: AgentId, action: Extract<Action, { do: 'ended' }>): boolean {
    const start = lifecycle.startInFlight(action.kernelId)
    if (!start) return false
    const key = `${action.kernelId} ${action.attempt}`
    if (endsBeforeStart.has(key)) return true
    endsBeforeStart.add(key)
    void start
      .then(() => actOnAll(agentId, [action], false))
      .finally(() => endsBeforeStart.delete(key))
      .catch((error: unknown) => log.error({ err: error, agentId, action }, 'the end of a short job was not taken up'))
    return true
  }

  /**
   * The same, where the start may be another manager's: that one gets some time to hear the reply. Whether it is a start is
   * not known here, so it is taken for one until the end has been reported for as long.
   */
  function startsElsewhere(agentId: AgentId, { kernelId, attempt }: Extract<Action, { do: 'ended' }>): boolean {
    if (!deps.links.wasElsewhere(agentId) || deps.isKnownToRun(kernelId)) return false
    const endedSince = deps.endedSince(agentId)
    const key = `${kernelId} ${attempt}`
    const since = endedSince.get(key) ?? performance.now()
    endedSince.set(key, since)
    return performance.now() - since < ELSEWHERE_MS
  }

  return actOnAll
}

function waitsFor(ahead: number, agent = 'its agent'): string {
  if (ahead === 0) return `Starting soon: Docker on ${agent} is busy.`
  const others = ahead === 1 ? '1 session is' : `${ahead} sessions are`
  return `Starting soon: ${others} being started on ${agent} before it.`
}

/** A session ends with any of its kernels, except one beside the main one that has done its work (exit code 0). */
function endOf(
  kernels: readonly KernelRow[],
  { kernelId, reason, exitCode }: { kernelId: KernelId; reason: Reason; exitCode: number | undefined },
): Change {
  if (kernels.length === 1) return { to: 'TERMINATED', reason, exitCode }
  const role = kernels.find(kernel => kernel.id === kernelId)?.role ?? 'one'
  const code = reason.code === 'exited' && role !== 'main1' ? 'kernel_failed' : reason.code
  // The others still run: it has ended once they are taken down.
  const message = `Kernel ${role} ended, and the session with it. ${reason.message}`
  return { to: 'TERMINATING', reason: { ...reason, code, message }, kernelId, exitCode }
}

function exitReason(exit: Extract<Action, { do: 'ended' }>['exit']): Reason {
  if (exit.stopped) return exit.stopped
  if (exit.oomKilled) {
    return {
      code: 'oom_killed',
      message: 'It used more memory than it had and was stopped by the kernel. Ask for more RAM.',
    }
  }
  if (exit.engineRestarted) {
    return { code: 'engine_restarted', message: 'Its Docker Engine, or the machine, restarted and took it along.' }
  }
  return { code: 'exited', message: `The main process ended with exit code ${exit.exitCode}.` }
}
