import {
  type AgentId,
  AppError,
  type KernelId,
  type ManagerId,
  type Reason,
  reasonOf,
  type SessionId,
} from '#manager/contract'
import { type Log } from '../log.ts'
import { type AllocatedSession, recordGrant, recordRequest, setSlurmEnd } from '../store/sessions/allocations.ts'
import { listRunningKernels } from '../store/sessions/interruptions.ts'
import { allocationRequest, namesNodes, wantedNodes } from './allocation-request.ts'
import { type Allocator } from './allocator.ts'
import { type Act, actOnEnd, ASKED, type Memory, NOT_KNOWN } from './judge.ts'
import { nameOf } from './names.ts'
import { createPreemptions, type PreemptionsDeps } from './preemptions.ts'
import { type WaitingSessions } from './read-waiting.ts'
import { createUseGrant, type UseGrantDeps } from './use-grant.ts'

/** A look at the engine. */
export interface Looked {
  readonly waiting: readonly WaitingSessions[]
  /** Sessions of the groups for which this process acts. */
  readonly own: readonly AllocatedSession[]
  readonly isPaused: boolean
  /** Nodes of the engine, asked for once in a look. */
  readonly nodes: Allocator['nodes']
}

export interface CarryOutDeps extends UseGrantDeps, PreemptionsDeps {
  readonly managerId: ManagerId
  readonly allocator: Allocator
  readonly memory: Memory
  /** Waiting sessions whose GPUs no node had when they asked last; kept here. */
  readonly nowhere: Set<SessionId>
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
  /** The engine has refused a request. */
  readonly onRefused: () => void
  readonly signal: AbortSignal
  readonly log: Log
}

/** @returns carries out an act for a session, and returns the reason that the session shows now; undefined = another part of Berth gives it one */
export function createCarryOut(deps: CarryOutDeps): (act: Act, looked: Looked) => Promise<Reason | undefined> {
  const { store, managerId, allocator, presence, memory, nowhere, hint, signal, log } = deps
  const preemptions = createPreemptions(deps)
  const useGrant = createUseGrant(deps)

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

  async function ask({ id, run }: Extract<Act, { act: 'ask' }>, looked: Looked): Promise<Reason | undefined> {
    const of = looked.waiting.find(({ pending }) => pending.has(id))
    const session = of?.pending.get(id)
    if (!of || !session) return undefined
    const { agents } = of
    const name = nameOf(managerId, id, run)
    const now = {
      agents,
      isReady: (agentId: AgentId) => presence.isReady(agentId),
      isNetworked: (agentId: AgentId) => of.networked.has(agentId),
      unable: of.unableFor(session),
    }
    const nodes = namesNodes(session, now) ? wantedNodes(session, await looked.nodes(), now) : {}
    if ('refused' in nodes) {
      nowhere.add(id)
      return reasonOf('allocation_refused', nodes.refused)
    }
    nowhere.delete(id)
    // Written before the request is made: a request that this process does not survive is found by its name.
    const user = of.userOf(session)
    if (!(await recordRequest(store.db, { sessionId: id, run, name, user }))) return undefined
    memory.followed.set(name, true)
    allocator.allocate(allocationRequest({ name, user, ...nodes }, session, of), words => {
      log.warn({ id, words }, 'Slurm refused to allocate resources for a session')
      memory.refused.set(name, words)
      deps.onRefused()
    })
    return ASKED
  }

  return async function carryOut(act: Act, looked: Looked): Promise<Reason | undefined> {
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
        const session = looked.own.find(({ id }) => id === act.id)
        const end = await allocator.endOf(act)
        // The question was broken off: the next manager asks again.
        if (signal.aborted) return undefined
        return session && carryOut(actOnEnd(session, end), looked)
      }
      case 'ask':
        return ask(act, looked)
      case 'place':
        return useGrant(act, looked)
    }
  }
}
