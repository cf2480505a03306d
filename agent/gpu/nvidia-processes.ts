import { type GpuProcess } from './gpu-plugin.ts'
import {
  APPS_QUERY,
  joinProcesses,
  parseComputeApps,
  parseProcessUse,
  type ProcessUse,
  useQuery,
} from './gpu-processes.ts'
import { createSmi } from './run-smi.ts'

/** Interval between looks at the use of processes, which may take the driver a second. */
const USE_EVERY_MS = 2_000
/** Use that is older counts as unknown. */
const USE_FRESH_MS = 10_000

export interface GpuProcesses extends AsyncDisposable {
  /** Processes on these GPUs with their use, where known; empty if the driver does not answer. */
  of(uuids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly GpuProcess[]>>
}

export function createGpuProcesses(program: string): GpuProcesses {
  /** Apart from the first one and from each other: no GPU has a problem because its processes are not listed or their use is not counted. */
  const askForApps = createSmi(program)
  const askForUse = createSmi(program)
  /** Last known use by processes, by GPU. */
  const uses = new Map<string, { readonly at: number; readonly list: readonly ProcessUse[] | undefined }>()
  let looking: Promise<void> | undefined

  /** Looks at the use of these GPUs in the background, one GPU after the other: memory, which is told at once, must not wait for it. */
  async function lookAtUse(uuids: readonly string[], signal: AbortSignal): Promise<void> {
    for (const uuid of uuids) {
      if (performance.now() - (uses.get(uuid)?.at ?? -Infinity) < USE_EVERY_MS) continue
      const { text, failure } = await askForUse(signal, ...useQuery(uuid))
      uses.set(uuid, { at: performance.now(), list: failure === null ? parseProcessUse(text) : undefined })
    }
  }

  function freshUse(uuid: string): readonly ProcessUse[] | undefined {
    const last = uses.get(uuid)
    return last && performance.now() - last.at < USE_FRESH_MS ? last.list : undefined
  }

  return {
    async of(own, signal) {
      if (own.length === 0) return new Map()
      looking ??= lookAtUse(own, signal)
        .catch(() => undefined)
        .finally(() => (looking = undefined))
      const { text, failure } = await askForApps(signal, ...APPS_QUERY)
      if (failure !== null) return new Map()
      const apps = parseComputeApps(text)
      return new Map(
        own.map(uuid => [
          uuid,
          joinProcesses(
            apps.filter(app => app.uuid === uuid),
            freshUse(uuid),
          ),
        ]),
      )
    },
    async [Symbol.asyncDispose]() {
      await looking
    },
  }
}
