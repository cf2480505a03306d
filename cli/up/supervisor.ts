import { setTimeout as wait } from 'node:timers/promises'
import { backoffMs } from '#base/backoff'
import { type Child, type ChildSpec, startChild } from './child.ts'

export interface SupervisorDeps {
  readonly start: (spec: ChildSpec, signal?: AbortSignal) => Promise<Child>
  readonly note: (text: string) => void
  /** Aborts the first start. */
  readonly signal?: AbortSignal
  /** Pause between restarts of a child that keeps failing; 0.2 s doubling to 5 s. */
  readonly backoffMs?: (failures: number) => number
}

export interface Supervised extends AsyncDisposable {
  /** The current process; another one after a restart. */
  readonly current: Child
}

/** A child that ran this long counts as healthy again. */
const HEALTHY_MS = 30_000

/** Keeps one server process running: whenever it ends by itself it is restarted. */
export async function supervise(
  spec: ChildSpec,
  { start, note, signal, backoffMs = defaultBackoff }: SupervisorDeps = { start: startChild, note: () => undefined },
): Promise<Supervised> {
  const stopping = new AbortController()
  const isStopping = () => stopping.signal.aborted
  let current = await start(spec, signal)

  const restart = async (failures: number): Promise<Child | undefined> => {
    for (let attempt = failures; ; attempt++) {
      await wait(backoffMs(attempt), undefined, { signal: stopping.signal }).catch(() => undefined)
      if (isStopping()) return undefined
      try {
        return await start(spec)
      } catch (error) {
        note(`${spec.name}: ${error instanceof Error ? error.message : String(error)}; trying again`)
      }
    }
  }
  const loop = async () => {
    let failures = 0
    for (;;) {
      const since = performance.now()
      const { code, signal } = await current.ended
      if (isStopping()) return
      failures = performance.now() - since > HEALTHY_MS ? 0 : failures + 1
      note(`${spec.name} ended (${signal ?? `exit ${code}`}); starting it again`)
      const again = await restart(failures - 1)
      if (!again) return
      if (isStopping()) {
        await again[Symbol.asyncDispose]()
        return
      }
      current = again
    }
  }
  const running = loop()
  return {
    get current() {
      return current
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await current[Symbol.asyncDispose]()
      await running
    },
  }
}

const PAUSES = { firstMs: 200, longestMs: 5_000 } as const
const defaultBackoff = (failures: number) => (failures <= 0 ? 0 : backoffMs(failures - 1, PAUSES))
