import { type KernelId, type ResourceSlots, type SessionId, type SessionStats } from '#manager/contract'
import { type Log } from '../log.ts'
import { gpusOf } from '../scheduler/plan/index.ts'
import { insertMinutes, readLastMinutes, type SessionMinute } from '../store/sessions/session-stats.ts'
import { type Store } from '../store/open-store.ts'
import { addMinutes, carryOn, MinuteSums } from './minute.ts'

export interface StatsRecorderDeps {
  readonly store: Store
  readonly log: Log
  readonly minuteMs?: number | undefined
}

/** Stores the means of every minute: sums in memory, one insert a minute, kept for 7 days. */
export interface StatsRecorder extends AsyncDisposable {
  add(session: MeasuredSession, kernelId: KernelId, stats: SessionStats): void
  /** Saves the figures of the current minute so far, then forgets the session. */
  end(sessionId: SessionId): void
}

export interface MeasuredSession {
  readonly sessionId: SessionId
  /** All kernels of its session. */
  readonly siblings: readonly KernelId[]
  /** Resources of each kernel. */
  readonly slots: ResourceSlots
}

const MINUTE_MS = 60_000
/** Minutes older than this are dropped while the database does not answer. */
const MAX_BEHIND_MS = 5 * 60_000

interface Batch {
  readonly middle: number
  readonly minutes: readonly SessionMinute[]
}

/**
 * Starts the recorder. A restart or the end of a session loses no totals: they are counters of the containers, and are in the last row,
 * also for kernels that have ended.
 */
export function startStatsRecorder({ store, log, minuteMs = MINUTE_MS }: StatsRecorderDeps): StatsRecorder {
  let running = new Map<SessionId, Map<KernelId, MinuteSums>>()
  /** CPU seconds by the end of each kernel's last minute, for agents that do not report them. */
  const cpuSeconds = new Map<KernelId, number>()
  const measured = new Map<SessionId, MeasuredSession>()
  const startOf = (now: number) => now - (now % minuteMs)
  /** Start of the current minute. */
  let startedAt = startOf(store.now())
  let unsaved: Batch[] = []
  let saving: Promise<void> = Promise.resolve()

  function minuteOf(sessionId: SessionId, kernels: ReadonlyMap<KernelId, MinuteSums>): SessionMinute[] {
    const means = [...kernels].flatMap(([kernelId, sums]) => {
      const mean = sums.mean(cpuSeconds.get(kernelId) ?? 0)
      if (mean) cpuSeconds.set(kernelId, mean.cpuSeconds)
      return mean ? [{ kernelId, mean }] : []
    })
    const [first, ...others] = means.map(({ mean }) => mean)
    if (!first) return []
    const stats = others.reduce(addMinutes, first)
    const { siblings = [], slots = {} } = measured.get(sessionId) ?? {}
    const heldGpus = (gpusOf(slots) / 100) * siblings.length
    if (siblings.length <= 1) return [{ sessionId, stats, heldGpus }]
    const kernelMeans = Object.fromEntries(means.map(({ kernelId, mean }) => [kernelId, mean]))
    return [{ sessionId, stats: { ...stats, kernels: kernelMeans }, heldGpus }]
  }

  async function withSilentKernels(minutes: readonly SessionMinute[]): Promise<SessionMinute[]> {
    const several = minutes.filter(({ stats }) => stats.kernels)
    const before = await readLastMinutes(
      store.db,
      several.map(({ sessionId }) => sessionId),
    )
    return minutes.map(minute => ({ ...minute, stats: carryOn(minute.stats, before.get(minute.sessionId)) }))
  }

  function save(minutes: readonly SessionMinute[]): void {
    const middle = startedAt + minuteMs / 2
    // Drop batches by age, not by number: any number of sessions may end at once, each with a separate batch.
    unsaved = [...unsaved.filter(batch => batch.middle > middle - MAX_BEHIND_MS), { middle, minutes }]
    saving = saving.then(async () => {
      for (let batch = unsaved[0]; batch; batch = unsaved[0]) {
        const minutes = await withSilentKernels(batch.minutes)
        await insertMinutes(store.db, minutes, store.now() - batch.middle)
        unsaved = unsaved.filter(one => one !== batch)
      }
    })
    saving = saving.catch((error: unknown) => {
      log.warn({ err: error }, 'figures of the last minute are not saved yet')
    })
  }

  function forget(sessionId: SessionId): void {
    for (const kernelId of measured.get(sessionId)?.siblings ?? []) cpuSeconds.delete(kernelId)
    measured.delete(sessionId)
  }

  function onMinute(): void {
    const ended = running
    running = new Map()
    // A session without samples was ended by another manager, or its agent is away.
    for (const id of measured.keys()) if (!ended.has(id)) forget(id)
    save([...ended].flatMap(([sessionId, kernels]) => minuteOf(sessionId, kernels)))
    startedAt = startOf(store.now())
  }

  let minute: NodeJS.Timeout
  function armMinute(): void {
    minute = setTimeout(
      () => {
        onMinute()
        armMinute()
      },
      minuteMs - (store.now() % minuteMs),
    )
  }

  armMinute()
  return {
    add({ sessionId, siblings, slots }, kernelId, stats) {
      const kernels = running.get(sessionId) ?? new Map<KernelId, MinuteSums>()
      const sums = kernels.get(kernelId) ?? new MinuteSums()
      sums.add(stats)
      running.set(sessionId, kernels.set(kernelId, sums))
      measured.set(sessionId, { sessionId, siblings, slots })
    },
    end(sessionId) {
      const kernels = running.get(sessionId)
      running.delete(sessionId)
      if (kernels) save(minuteOf(sessionId, kernels))
      forget(sessionId)
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(minute)
      onMinute()
      await saving
    },
  }
}
