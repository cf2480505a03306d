import { type AgentId, because, type KernelId, type Reason, reasonOf, type SessionId } from '#manager/contract'
import { type Audit } from '../audit/recorder.ts'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import {
  announceInterruption,
  callOffInterruptions,
  listRunningKernels,
  saveInterruption,
} from '../store/sessions/interruptions.ts'
import { insertSessionEvents } from '../store/sessions/session-events.ts'
import { type Touched } from '../store/sessions/touches.ts'
import { type GroupSnapshot, type Interruption } from './plan/index.ts'
import { type AgentPresence } from './snapshot.ts'

/** Carries out the interruptions that plans decide: warnings, the end of the countdown, and cancelling it. */
export interface Interruptions {
  /**
   * Brings the database, and the warnings of sessions, in line with the plan. Only the manager that schedules the group calls it. Safe to
   * repeat: after a restart of the manager the countdown continues.
   */
  follow(group: string, snapshot: GroupSnapshot, interruption: Interruption | undefined): Promise<void>
}

export interface InterruptionsDeps {
  readonly store: Store
  readonly presence: AgentPresence
  /**
   * Tells a container the time at which its session will be interrupted, or (null) that it will not be. Safe to repeat. @throws AppError
   * `agent_unreachable`, `bad_request` (an agent of an earlier version)
   */
  readonly warn: (agentId: AgentId, kernelId: KernelId, at: string | null) => Promise<void>
  /** Stops a session whose interruption is due at this time; it then waits to continue. @returns false if this call did not stop it */
  readonly stop: (id: SessionId, at: number) => Promise<boolean>
  readonly hint: (touched: readonly Touched[]) => void
  readonly audit?: Audit | undefined
  readonly log: Log
}

export function createInterruptions(deps: InterruptionsDeps): Interruptions {
  const { store, presence, warn, stop, hint, audit, log } = deps
  /** The last time of interruption that this manager has sent to each container. */
  const told = new Map<KernelId, { readonly sessionId: SessionId; readonly agentId: AgentId; readonly at: string }>()

  async function write(group: string, last: GroupSnapshot['interruption'], next: Interruption | undefined) {
    return store.transaction(async trx => {
      if (next?.sessionId !== last?.sessionId || next?.agentId !== last?.agentId || next?.at !== last?.at)
        await saveInterruption(trx, group, next)
      const calledOff = await callOffInterruptions(trx, group, next?.victims ?? [])
      const announced = next ? await announceInterruption(trx, next.victims, next.at) : []
      const event = (reason: Reason) => (one: Touched) => ({
        sessionId: one.id,
        kernelId: null,
        from: 'RUNNING' as const,
        to: 'RUNNING' as const,
        reason,
        actor: null,
      })
      await insertSessionEvents(trx, [
        ...calledOff.map(event(CALLED_OFF)),
        ...(next ? announced.map(event(announcedReason(next.at))) : []),
      ])
      return { calledOff, announced }
    })
  }

  /** Notifies containers whose agents are connected; the next pass repeats failed notifications. */
  async function tell(victims: readonly SessionId[], at: string, calledOff: readonly SessionId[]): Promise<void> {
    for (const { sessionId, kernelId, agentId } of await listRunningKernels(store.db, victims)) {
      if (told.get(kernelId)?.at === at || !presence.isReady(agentId)) continue
      told.set(kernelId, { sessionId, agentId, at })
      send(agentId, kernelId, at)
    }
    // Include sessions that another manager has notified.
    for (const { kernelId, agentId } of await listRunningKernels(store.db, calledOff)) {
      told.delete(kernelId)
      send(agentId, kernelId, null)
    }
  }

  function send(agentId: AgentId, kernelId: KernelId, at: string | null): void {
    warn(agentId, kernelId, at).catch((error: unknown) => {
      told.delete(kernelId)
      log.warn(
        { err: error, agentId, kernelId, at },
        'a container could not be told of the interruption of its session',
      )
    })
  }

  async function record(group: string, interruption: Interruption, id: SessionId): Promise<void> {
    const detail = { resourceGroup: group, for: interruption.sessionId }
    log.info({ id, ...detail }, 'session is interrupted')
    await audit?.record({ action: 'interruptSession', target: `session:${id}`, result: 'ok', detail })
  }

  return {
    async follow(group, { interruption: last, now = 0, agents }, interruption) {
      if (!last && !interruption) return
      const { calledOff, announced } = await write(group, last, interruption)
      hint([...calledOff, ...announced])
      const victims = interruption?.victims ?? []
      for (const [kernelId, { sessionId }] of told) if (!victims.includes(sessionId)) told.delete(kernelId)
      const at = new Date(interruption?.at ?? 0).toISOString()
      await tell(
        victims,
        at,
        calledOff.map(({ id }) => id),
      )
      const agent = agents.find(({ id }) => id === interruption?.agentId)
      if (!interruption || now < interruption.at || !agent?.connected) return
      for (const id of victims) {
        if (await stop(id, interruption.at)) await record(group, interruption, id)
      }
    },
  }
}

const CALLED_OFF: Reason = {
  code: 'interruption_called_off',
  message: 'The interruption is called off: its room is not needed any more.',
}

function announcedReason(at: number): Reason {
  const when = new Date(at).toISOString()
  return reasonOf('interruption_announced', because('makes_room_at', { time: when }))
}
