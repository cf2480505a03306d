import { defined } from '#base/defined'
import { type ManagerId } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type JudgeTimes } from '../allocators/judge.ts'
import { createSlurmAllocator } from '../allocators/slurm/slurm-allocator.ts'
import { type AllocationsDeps, startAllocations } from '../allocators/start-allocations.ts'
import { type Audit } from '../audit/recorder.ts'
import { type JobLocks } from '../cluster/job-locks.ts'
import { type Log } from '../log.ts'
import { createInterruptions } from '../scheduler/interruptions.ts'
import { type SchedulingSwitch } from '../scheduler/pause.ts'
import { type PlacingPresence } from '../scheduler/snapshot.ts'
import { type Scheduler, type SchedulerDeps, startScheduler } from '../scheduler/tick.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { type Lifecycle } from '../sessions/lifecycle/lifecycle.ts'
import { readRights } from '../sessions/rights/read-rights.ts'
import { type Store } from '../store/open-store.ts'

export interface PlacingPartDeps {
  readonly store: Store
  readonly managerId: ManagerId
  readonly presence: PlacingPresence
  readonly agents: AgentRequests
  readonly lifecycle: Pick<Lifecycle, 'start' | 'cancel' | 'terminate' | 'interrupt'>
  readonly changes: Pick<SessionChanges, 'hint'>
  readonly scheduling: Pick<SchedulingSwitch, 'isPaused' | 'isRestored'>
  readonly jobLocks: JobLocks
  /** Client commands of Slurm, and how often they are called. */
  readonly slurm?: { readonly commands?: string | undefined; readonly pollMs?: number | undefined } | undefined
  readonly audit?: Audit | undefined
  readonly log: Log
  readonly timings: PlacingTimings
}

export interface PlacingTimings {
  readonly slowTickMs?: number
  readonly allocations?: Partial<JudgeTimes> & Pick<AllocationsDeps, 'pollMs' | 'giveUpMs' | 'mostWaiting'>
}

/** Decides where waiting sessions run: Berth's own scheduler, and the allocations of resource groups that Slurm decides for. */
export interface PlacingPart extends AsyncDisposable {
  readonly scheduler: Scheduler
  /** Requests a pass of both soon, because something changed. */
  trigger(): void
}

type Shared = 'store' | 'presence' | 'rights' | 'start' | 'cancel' | 'hint' | 'jobLocks' | 'isPaused' | 'log'

const WARN_MS = 10_000

export function startPlacingPart(deps: PlacingPartDeps): PlacingPart {
  const { store, managerId, presence, agents, lifecycle, changes, scheduling, jobLocks, audit, log, timings } = deps
  const stack = new AsyncDisposableStack()
  const shared: Pick<SchedulerDeps, Shared> & Pick<AllocationsDeps, Shared> = {
    store,
    presence,
    rights: readRights,
    start: id => lifecycle.start(id),
    cancel: (id, reason) => lifecycle.cancel(id, reason),
    hint: touched => changes.hint(touched),
    jobLocks,
    isPaused: () => scheduling.isPaused(),
    log,
  }
  const scheduler = stack.use(
    startScheduler({
      ...shared,
      interruptions: createInterruptions({
        store,
        presence,
        warn: async (agentId, kernelId, at) =>
          void (await agents.request(agentId, 'warn_kernel', { kernelId, at }, { timeoutMs: WARN_MS })),
        stop: (id, at) => lifecycle.interrupt(id, at),
        hint: shared.hint,
        audit,
        log,
      }),
      ...defined({ slowTickMs: timings.slowTickMs }),
    }),
  )
  const allocations = stack.use(
    startAllocations({
      ...shared,
      managerId,
      allocatorFor: signal => createSlurmAllocator({ commands: deps.slurm?.commands, signal }),
      end: (id, reason, { isWaiting }) =>
        lifecycle.terminate(id, { reason, still: ({ status }) => (status === 'PENDING') === isWaiting }),
      warn: async (agentId, kernelId, { at, continues }) => {
        const notice = { kernelId, at, ...(continues ? {} : { isEnd: true as const }) }
        await agents.request(agentId, 'warn_kernel', notice, { timeoutMs: WARN_MS })
      },
      interrupt: (id, at, reason) => lifecycle.interrupt(id, at, reason),
      audit,
      isRestored: () => scheduling.isRestored(),
      ...defined({
        pollMs: timings.allocations?.pollMs ?? deps.slurm?.pollMs,
        giveUpMs: timings.allocations?.giveUpMs,
        mostWaiting: timings.allocations?.mostWaiting,
        times: timings.allocations,
      }),
    }),
  )
  return {
    scheduler,
    trigger() {
      scheduler.trigger()
      allocations.trigger()
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
