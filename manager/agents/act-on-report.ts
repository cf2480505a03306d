import {
  type AgentId,
  because,
  type Because,
  causeIn,
  type KernelId,
  type Reason,
  reasonOf,
  type SessionId,
  together,
  toWireError,
} from '#manager/contract'
import { type AgentLinks } from '../cluster/agent-links.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { importContainer } from '../sessions/import.ts'
import { type Lifecycle } from '../sessions/lifecycle/lifecycle.ts'
import { INTERRUPTED, STARTED } from '../sessions/lifecycle/outcomes.ts'
import { type Change, isStarting } from '../sessions/transition.ts'
import { findAgent } from '../store/agents/agents.ts'
import { type KernelRow } from '../store/sessions/kernels.ts'
import { exitReason } from './exit-reason.ts'
import { createPhases, type PhasesDeps } from './act-on-phase.ts'
import { type RecentKills } from './recent-kills.ts'
import { type Action } from './reconcile.ts'

export interface ActingDeps extends Pick<PhasesDeps, 'store' | 'changes' | 'prepareWithinMs'> {
  readonly events: EventPublisher
  readonly lifecycle: Lifecycle
  /** Connections of the agents to the other managers. */
  readonly links: Pick<AgentLinks, 'isElsewhere' | 'wasElsewhere'>
  /** Last log lines of a container that has ended; undefined if its agent does not answer in time. */
  readonly lastLog: (agentId: AgentId, kernelId: KernelId) => Promise<string | undefined>
  /** Whether the database was restored: agents may then be ahead of the database. */
  readonly isRestored: () => Promise<boolean>
  /** Called when an agent connected, disconnected or changed: placements may be possible now. */
  readonly onAgentChanged: () => void
  readonly log: Log
}

/** This process's memory of agents and their kernels. */
export interface ActingMemory extends Pick<PhasesDeps, 'pulling' | 'live'> {
  /** Reported ends that may belong to a start in flight at another manager, with the time of the first report. */
  readonly endedSince: (agentId: AgentId) => Map<string, number>
  readonly memoryKills: (agentId: AgentId) => Pick<RecentKills, 'isRecent'>
  /** Whether this process has seen that the kernel runs. */
  readonly isKnownToRun: (kernelId: KernelId) => boolean
}

/** Actions that failed; the next report repeats them. */
export interface Failed {
  /** Message for an admin about the last failure. */
  readonly problem: Because | null
  readonly kernelIds: readonly KernelId[]
}

const ELSEWHERE_MS = 8_000
/** EX_TEMPFAIL of sysexits.h. */
const CONTINUES_LATER = 75

/**
 * Executes the actions found by reconciling a report: sessions continue, end, or are imported.
 *
 * @returns a function that executes all actions; `first` means that the agent was not ready before
 */
export function createActing(deps: ActingDeps & ActingMemory) {
  const { store, events, changes, lifecycle, log } = deps
  const { notePhase, setPhase, noteTurn } = createPhases(deps)
  /** Ends, by kernel and attempt, that were reported while the start is in flight. */
  const endsBeforeStart = new Set<string>()

  async function actOnAll(agentId: AgentId, actions: readonly Action[], first: boolean): Promise<Failed> {
    let problem: Because | null = null
    const kernelIds: KernelId[] = []
    // Note all phases first: the outcome for a session must not depend on which of its kernels is reported first.
    for (const action of actions) if (action.do === 'phase') notePhase(action)
    for (const action of actions) {
      // An action that fails must not block the others, or the agent; the next report repeats it.
      await act(agentId, action, first).catch((error: unknown) => {
        log.error({ err: error, agentId, action }, "a kernel in an agent's report could not be handled")
        const { kernelId } = action.do === 'import' ? action.label : action
        kernelIds.push(kernelId)
        problem = because('container_not_handled', { kernel: kernelId, code: toWireError(error).code })
      })
    }
    return { problem, kernelIds }
  }

  async function act(agentId: AgentId, action: Action, first: boolean): Promise<void> {
    switch (action.do) {
      case 'phase':
        if (!action.isWritten) await setPhase(action)
        return noteTurn(agentId, action)
      case 'running': {
        const adopted: Reason = { code: 'adopted', message: 'Found running on its host after a restart.' }
        return lifecycle.markRunning(action.sessionId, { ...action, reason: first ? adopted : STARTED })
      }
      case 'ended': {
        if (waitsForStart(agentId, action) || startsElsewhere(agentId, action)) return
        const { exit, attempt } = action
        const reason = exitReason(exit, deps.memoryKills(agentId).isRecent(action.kernelId))
        // Store the log together with the end: a client that waits for the end reads the log next.
        const logTail = await deps.lastLog(agentId, action.kernelId)
        await end(agentId, action, { attempt, reason, exitCode: exit.exitCode, logTail })
        lifecycle.cleanUp(agentId, action.kernelId, attempt)
        return
      }
      case 'gone': {
        const restored = await deps.isRestored()
        const message = restored
          ? 'The session was running when the backup was made; its container does not exist any more.'
          : 'The container disappeared from its host; Berth did not end it.'
        await end(agentId, action, {
          attempt: action.attempt,
          reason: { code: restored ? 'lost_by_restore' : 'container_gone', message },
        })
        // Network and home of the session still exist.
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
    const applied = await changes.apply(sessionId, state => {
      const isLive = state.status === 'RUNNING' || isStarting(state.status)
      const isThere = state.kernels.some(kernel => kernel.id === kernelId && kernel.agent_id === agentId)
      if (!isThere || state.attempt !== attempt || !isLive) return undefined
      // The session has saved its work before the end of the countdown, so its interruption need not wait longer.
      if (state.session.interrupt_at !== null && state.status === 'RUNNING' && exitCode === CONTINUES_LATER)
        return { to: 'TERMINATING', reason: INTERRUPTED, continues: true, kernelId, exitCode, logTail }
      return { ...endOf(state.kernels, { kernelId, reason, exitCode }), logTail }
    })
    if (applied?.to === 'TERMINATING') lifecycle.finishTermination(sessionId)
  }

  async function importRunning(agentId: AgentId, action: Extract<Action, { do: 'import' }>): Promise<void> {
    const { label, containerId, startedAt } = action
    const capacity = (await findAgent(store.db, agentId))?.capacity ?? {}
    const found = { agentId, label, containerId, startedAt, capacity }
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
   * Defers an end until the reply to create_kernel, which decides whether this was a start at all. A short job ends
   * before that reply is written: its end is then processed right after it, instead of with the next heartbeat.
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
   * Like `waitsForStart`, for a start that may be in flight at another manager: that manager gets ELSEWHERE_MS to receive the reply. This
   * manager cannot know whether it is a start, so it assumes one until the end has been reported for that long.
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

/** A session ends with any of its kernels, except a secondary one that has finished its work (exit code 0). */
function endOf(
  kernels: readonly KernelRow[],
  { kernelId, reason, exitCode }: { kernelId: KernelId; reason: Reason; exitCode: number | undefined },
): Change {
  if (kernels.length === 1) return { to: 'TERMINATED', reason, exitCode }
  const role = kernels.find(kernel => kernel.id === kernelId)?.role ?? 'one'
  const code = reason.code === 'exited' && role !== 'main1' ? 'kernel_failed' : reason.code
  // The other kernels still run: the session has ended once they are destroyed.
  const ended = because('container_ended', { container: role })
  const known = causeIn({ ...reason, why: reason.message })
  const text = known
    ? reasonOf(code, together(ended, known))
    : { ...reason, code, message: `${ended.why} ${reason.message}` }
  return { to: 'TERMINATING', reason: text, kernelId, exitCode }
}
