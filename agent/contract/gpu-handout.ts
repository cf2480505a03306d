import { z } from 'zod'
import { because, type Because } from '#manager/contract'

/** CDI kind of NVIDIA's GPUs and MIG instances; other kinds (`management.nvidia.com/gpu`, other makers) are not GPUs of NVIDIA. */
export const GPU_KIND = 'nvidia.com/gpu'

/** Program by which Docker provides GPUs without CDI. Docker looks for it in its own PATH when it starts. */
export const NVIDIA_HOOK = 'nvidia-container-runtime-hook'

/** Fields of `GET /info` that say how GPUs can be provided. Engines omit fields that they do not know. */
export const GpuInfo = z.object({
  /** From API 1.50. */
  DiscoveredDevices: z.array(z.object({ ID: z.string() })).nullish(),
  /** From API 1.44; empty if CDI is off. */
  CDISpecDirs: z.array(z.string()).nullish(),
  Runtimes: z.record(z.string(), z.unknown()).nullish(),
})
export type GpuInfo = z.infer<typeof GpuInfo>

/** GPUs that an engine can provide now. */
export interface GpuOffer {
  /** Names of CDI devices of `GPU_KIND`: UUIDs, or indexes such as `0`, `0:1` for a MIG instance, `gpu0`, `mig0:1`. */
  readonly names: readonly string[]
  /** True if NVIDIA's runtime or hook is installed, or if that cannot be checked. */
  readonly hook: boolean
}

/** A GPU or MIG instance of the host; its index is undefined if it was not queried. */
export interface GpuName {
  readonly uuid: string
  readonly index?: string | undefined
}

/** Way to request GPUs; with `isByIndex` the UUIDs in the container must be checked, because an index may move. */
export type GpuHandout =
  | { readonly by: 'cdi'; readonly ids: readonly string[]; readonly isByIndex: boolean }
  | { readonly by: 'hook' }
  | { readonly by: 'none'; readonly because: Because }

/**
 * GPUs and MIG instances in the list of `nvidia-smi -L`. A GPU in MIG mode comes before its instances, and is `parent` of each.
 * Indexes are as in CDI: `1` for a GPU, `1:0` for an instance of it.
 */
export function parseGpuList(list: string): (GpuName & { readonly index: string; readonly parent?: string })[] {
  let gpu = { uuid: '', index: '' }
  return list.split('\n').flatMap(line => {
    const [, index, uuid] = /^GPU (\d+): .*\(UUID: (GPU-[^)]+)\)/.exec(line) ?? []
    if (index !== undefined && uuid !== undefined) return [(gpu = { uuid, index })]
    const [, instance, mig] = /^\s+MIG .*Device\s+(\d+): \(UUID: (MIG-[^)]+)\)/.exec(line) ?? []
    return mig === undefined ? [] : [{ uuid: mig, index: `${gpu.index}:${instance}`, parent: gpu.uuid }]
  })
}

/** Names of the GPUs among the ids of CDI devices. `all` does not name a particular GPU. */
export function gpuNamesOf(ids: readonly string[]): string[] {
  const prefix = `${GPU_KIND}=`
  return ids.filter(id => id.startsWith(prefix) && id !== `${prefix}all`).map(id => id.slice(prefix.length))
}

/** Whether names of this list are UUIDs: indexes in such a list are as old as the UUIDs, so they prove nothing more. */
const hasUuids = (names: readonly string[]) => names.some(name => /^(GPU|MIG)-/.test(name))

/** Whether the names can be resolved only with the indexes of the GPUs. */
export const needsIndexes = ({ names }: GpuOffer): boolean => names.length > 0 && !hasUuids(names)

/**
 * Way to request all of these GPUs: CDI first, because it needs no registered runtime and no hook, and the devices are in the container's
 * own specification; then NVIDIA's hook.
 */
export function handOut({ names, hook }: GpuOffer, asked: readonly GpuName[]): GpuHandout {
  const listed = new Set(names)
  const isByIndex = !hasUuids(names)
  const nameOf = ({ uuid, index }: GpuName) =>
    isByIndex ? namesOfIndex(index).find(name => listed.has(name)) : listed.has(uuid) ? uuid : undefined
  const ids = asked.flatMap(gpu => {
    const name = nameOf(gpu)
    return name === undefined ? [] : [`${GPU_KIND}=${name}`]
  })
  if (ids.length === asked.length) return { by: 'cdi', ids, isByIndex: isByIndex && ids.length > 0 }
  if (hook) return { by: 'hook' }
  return { by: 'none', because: because(names.length > 0 ? 'gpu_not_in_cdi' : 'engine_without_gpus') }
}

/** Besides `uuid`, NVIDIA's generator has the strategies `index` and `type-index`. */
function namesOfIndex(index: string | undefined): string[] {
  return index === undefined ? [] : [index, `${index.includes(':') ? 'mig' : 'gpu'}${index}`]
}
