import { type KernelId, type SessionId, type SessionStats } from '#manager/contract'
import { type Log } from '../log.ts'
import { insertMinutes, readLastMinutes, type SessionMinute } from '../store/sessions/session-stats.ts'
import { type Store } from '../store/open-store.ts'
import { addMinutes, carryOn, MinuteSums, totalsOf } from './minute.ts'

export interface StatsRecorderDeps {
  readonly store: Store
  readonly log: Log
  readonly minuteMs?: number | undefined
}

/** Keeps the means of every minute: sums in memory, one insert a minute, 7 days. */
export interface StatsRecorder extends AsyncDisposable {
  add(session: MeasuredSession, kernelId: KernelId, stats: SessionStats): void
  /** What is there of the minute that runs; then the session is forgotten. */
  end(sessionId: SessionId): void
}

export interface MeasuredSession {
  readonly sessionId: SessionId
  /** All of its kernels. */
  readonly siblings: readonly KernelId[]
}

const MINUTE_MS = 60_000
/** A database that does not answer may be so far behind. */
const MAX_BEHIND_MS = 5 * 60_000

interface Batch {
  readonly middle: number
  readonly minutes: readonly SessionMinute[]
}

/** Restart and end lose no totals: those are counters of the containers, and the last row has them, also of what is done. */
export function startStatsRecorder({ store, log, minuteMs = MINUTE_MS }: StatsRecorderDeps): StatsRecorder {
  let running = new Map<SessionId, Map<KernelId, MinuteSums>>()
  /** By the end of its last minute, for agents that do not tell it themselves. */
  const cpuSeconds = new Map<KernelId, number>()
  const siblingsOf = new Map<SessionId, readonly KernelId[]>()
  /** Of the minute that runs. */
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
    if ((siblingsOf.get(sessionId) ?? []).length <= 1) return [{ sessionId, stats }]
    const totals = Object.fromEntries(means.map(({ kernelId, mean }) => [kernelId, totalsOf(mean)]))
    return [{ sessionId, stats: { ...stats, kernels: totals } }]
  }

  async function withSilentKernels(minutes: readonly SessionMinute[]): Promise<SessionMinute[]> {
    const several = minutes.filter(({ stats }) => stats.kernels)
    const before = await readLastMinutes(
      store.db,
      several.map(({ sessionId }) => sessionId),
    )
    return minutes.map(({ sessionId, stats }) => ({ sessionId, stats: carryOn(stats, before.get(sessionId)) }))
  }

  function save(minutes: readonly SessionMinute[]): void {
    const middle = startedAt + MINUTE_MS / 2
    // By age, not by number: any number of sessions may end at once, each with what it has used last.
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
    for (const kernelId of siblingsOf.get(sessionId) ?? []) cpuSeconds.delete(kernelId)
    siblingsOf.delete(sessionId)
  }

  function onMinute(): void {
    const ended = running
    running = new Map()
    // Ended elsewhere, or its agent is away.
    for (const id of siblingsOf.keys()) if (!ended.has(id)) forget(id)
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
    add({ sessionId, siblings }, kernelId, stats) {
      const kernels = running.get(sessionId) ?? new Map<KernelId, MinuteSums>()
      const sums = kernels.get(kernelId) ?? new MinuteSums()
      sums.add(stats)
      running.set(sessionId, kernels.set(kernelId, sums))
      siblingsOf.set(sessionId, siblings)
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

function startOf(now: number): number {
  return now - (now % MINUTE_MS)
}
