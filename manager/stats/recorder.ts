import { type KernelId, type SessionId, type SessionStats } from '#manager/contract'
import { type Log } from '../log.ts'
import { insertMinutes, type SessionMinute } from '../store/session-stats.ts'
import { type Store } from '../store/open-store.ts'
import { type StatsMinute } from '../store/tables/operation.ts'
import { addMinutes, MinuteSums, totalsOf } from './minute.ts'

export interface StatsRecorderDeps {
  readonly store: Store
  readonly log: Log
  readonly minuteMs?: number | undefined
}

/** Keeps the means of every minute: sums in memory, one statement a minute, 7 days. */
export interface StatsRecorder extends AsyncDisposable {
  add(sessionId: SessionId, kernelId: KernelId, stats: SessionStats): void
  /** What is there of the minute that runs; then the session is forgotten. */
  end(sessionId: SessionId): void
}

const MINUTE_MS = 60_000
/** A database that does not answer may be so far behind. */
const MAX_BEHIND_MS = 5 * 60_000

interface Batch {
  readonly middle: number
  readonly minutes: readonly SessionMinute[]
}

/** Restart and end lose no totals: those are counters of the container, and the last row has them. */
export function startStatsRecorder({ store, log, minuteMs = MINUTE_MS }: StatsRecorderDeps): StatsRecorder {
  let running = new Map<SessionId, Map<KernelId, MinuteSums>>()
  /** What each kernel had used by its last minute; one that has done its work still counts for its session. */
  const lasts = new Map<KernelId, StatsMinute>()
  const kernelsOf = new Map<SessionId, Set<KernelId>>()
  /** Of the minute that runs. */
  let startedAt = startOf(store.now())
  let unsaved: Batch[] = []
  let saving: Promise<void> = Promise.resolve()

  function minuteOf(sessionId: SessionId, kernels: ReadonlyMap<KernelId, MinuteSums>): SessionMinute[] {
    const means = [...kernels].flatMap(([kernelId, sums]) => {
      const mean = sums.mean(lasts.get(kernelId)?.cpuSeconds ?? 0)
      if (mean) lasts.set(kernelId, mean)
      return mean ?? []
    })
    const silent = [...(kernelsOf.get(sessionId) ?? [])].filter(kernelId => !kernels.has(kernelId))
    const [first, ...others] = [...means, ...silent.flatMap(kernelId => totalsOf(lasts.get(kernelId)))]
    return first ? [{ sessionId, stats: others.reduce(addMinutes, first) }] : []
  }

  function save(minutes: readonly SessionMinute[]): void {
    const middle = startedAt + MINUTE_MS / 2
    // By age, not by number: any number of sessions may end at once, each with what it has used last.
    unsaved = [...unsaved.filter(batch => batch.middle > middle - MAX_BEHIND_MS), { middle, minutes }]
    saving = saving.then(async () => {
      for (let batch = unsaved[0]; batch; batch = unsaved[0]) {
        await insertMinutes(store.db, batch.minutes, store.now() - batch.middle)
        unsaved = unsaved.filter(one => one !== batch)
      }
    })
    saving = saving.catch((error: unknown) => {
      log.warn({ err: error }, 'figures of the last minute are not saved yet')
    })
  }

  function forget(sessionId: SessionId): void {
    for (const kernelId of kernelsOf.get(sessionId) ?? []) lasts.delete(kernelId)
    kernelsOf.delete(sessionId)
  }

  function onMinute(): void {
    const ended = running
    running = new Map()
    // Ended elsewhere, or its agent is away.
    for (const id of kernelsOf.keys()) if (!ended.has(id)) forget(id)
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
    add(sessionId, kernelId, stats) {
      const kernels = running.get(sessionId) ?? new Map<KernelId, MinuteSums>()
      const sums = kernels.get(kernelId) ?? new MinuteSums()
      sums.add(stats)
      running.set(sessionId, kernels.set(kernelId, sums))
      kernelsOf.set(sessionId, (kernelsOf.get(sessionId) ?? new Set()).add(kernelId))
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
