import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import {
  type GpuHandout,
  GpuInfo,
  type GpuName,
  gpuNamesOf,
  type GpuOffer,
  handOut,
  needsIndexes,
  NVIDIA_HOOK,
} from '#agent/contract'
import { AppError } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { gpuRequest, type GpuRequest, NO_GPUS } from '../docker/gpu-request.ts'
import { readCdiNames } from './cdi-files.ts'
import { type GpuRequests } from './gpu-plugin.ts'

export interface NvidiaRequestsDeps {
  readonly engine: EngineClient
  /** Whether the engine has the files and programs of this machine: false for one in a virtual machine or a container. */
  readonly isEngineHere: () => boolean
  /** Index of each GPU and MIG instance by UUID, as the driver numbers them now. */
  readonly indexes: () => Promise<ReadonlyMap<string, string>>
  readonly path?: string
}

/** PATH of a Docker Engine that systemd started, which is not ours. */
const SERVICE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Request for GPUs and MIG instances, by UUID where possible: an index may mean another device after a restart. If NVIDIA's runtime is the
 * engine's default, NVIDIA_VISIBLE_DEVICES decides which GPUs a container gets, and CUDA images set it to "all"; devices of CDI are in the
 * container already.
 */
export function nvidiaRequest(way: Exclude<GpuHandout, { by: 'none' }>, uuids: readonly string[]): GpuRequest {
  if (uuids.length === 0) return NO_GPUS
  return way.by === 'cdi'
    ? gpuRequest({
        uuids,
        deviceRequests: [{ Driver: 'cdi', DeviceIDs: [...way.ids] }],
        unsure: way.isByIndex ? uuids : [],
      })
    : gpuRequest({
        uuids,
        deviceRequests: [{ Driver: '', DeviceIDs: [...uuids], Capabilities: [['gpu']] }],
        environment: { NVIDIA_VISIBLE_DEVICES: uuids.join(',') },
      })
}

export function createNvidiaRequests({
  engine,
  isEngineHere,
  indexes,
  path = process.env.PATH,
}: NvidiaRequestsDeps): GpuRequests {
  async function readOffer(): Promise<GpuOffer> {
    const reply: unknown = await engine.calls.info()
    const isHere = isEngineHere()
    const { DiscoveredDevices, CDISpecDirs, Runtimes } = GpuInfo.parse(reply)
    const names = DiscoveredDevices
      ? gpuNamesOf(DiscoveredDevices.map(({ ID }) => ID))
      : isHere
        ? await readCdiNames(CDISpecDirs ?? [])
        : []
    // The hook of an engine elsewhere cannot be checked, so only the start shows whether it exists.
    const hook = !isHere || Object.hasOwn(Runtimes ?? {}, 'nvidia') || (await hasProgram(NVIDIA_HOOK, path))
    return { names, hook }
  }

  async function check(uuids: readonly string[]): Promise<{ offer: GpuOffer; gpus: readonly GpuName[] }> {
    const offer = await readOffer()
    const found = needsIndexes(offer) ? await indexes() : new Map<string, string>()
    return { offer, gpus: uuids.map(uuid => ({ uuid, index: found.get(uuid) })) }
  }

  return {
    async of(uuids) {
      if (uuids.length === 0) return NO_GPUS
      const { offer, gpus } = await check(uuids)
      const way = handOut(offer, gpus)
      if (way.by === 'none') throw new AppError('kernel_create_failed', { ...way.because, gpus: uuids.join(',') })
      return nvidiaRequest(way, uuids)
    },
    async problems(uuids) {
      if (uuids.length === 0) return new Map()
      const { offer, gpus } = await check(uuids)
      return new Map(
        gpus.flatMap(gpu => {
          const way = handOut(offer, [gpu])
          return way.by === 'none' ? [[gpu.uuid, way.because] as const] : []
        }),
      )
    },
  }
}

async function hasProgram(name: string, path = ''): Promise<boolean> {
  const directories = new Set([...path.split(delimiter), ...SERVICE_PATH.split(':')].filter(Boolean))
  const looks = [...directories].map(directory => access(join(directory, name), constants.X_OK))
  return (await Promise.allSettled(looks)).some(({ status }) => status === 'fulfilled')
}
