import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { GpuInfo } from '#agent/contract'
import { AppError, type Because, because } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { type DeviceFile, gpuRequest, NO_GPUS } from '../docker/gpu-request.ts'
import { type AmdFinder } from './amd.ts'
import { type CdiDevice, readCdiDevices } from './cdi-files.ts'
import { type GpuRequests } from './gpu-plugin.ts'

export const AMD_KIND = 'amd.com/gpu'

export interface AmdRequestsDeps {
  readonly engine: EngineClient
  readonly isEngineHere: () => boolean
  readonly finder: Pick<AmdFinder, 'deviceOf'>
  /** Directory of the host's device files. */
  readonly devices?: string
}

/** Permissions of a device file that decide whether a session can use it. */
interface Access {
  readonly file: DeviceFile
  /** Group that may use it; null if everybody may. */
  readonly group: number | null
}

const [GROUP_RW, OTHERS_RW] = [0o060, 0o006]

/**
 * Requests for AMD's GPUs: the file of the GPU in /dev/dri and /dev/kfd, by CDI if the engine has a device with just these files, otherwise by
 * themselves. The files of other GPUs are not in the container, so a program cannot open them. Sessions are members of the groups that own
 * the files, usually `render` and `video`: by their ids, because names are the image's.
 */
export function createAmdRequests({ engine, isEngineHere, finder, devices = '/dev' }: AmdRequestsDeps): GpuRequests {
  async function accessOf(name: string): Promise<Access | Because> {
    const [onHost, inContainer] = [join(devices, name), join('/dev', name)]
    const found = await stat(onHost).catch(() => undefined)
    if (!found?.isCharacterDevice()) return because('amd_file_missing', { path: inContainer })
    const file = { onHost, inContainer }
    if ((found.mode & OTHERS_RW) === OTHERS_RW) return { file, group: null }
    if ((found.mode & GROUP_RW) === GROUP_RW && found.gid !== 0) return { file, group: found.gid }
    return because('amd_file_closed', { path: inContainer })
  }

  /** The device files of a GPU, or why a session cannot use them. */
  async function filesOf(uuid: string): Promise<readonly Access[] | Because> {
    if (!isEngineHere()) return because('amd_engine_elsewhere')
    const render = finder.deviceOf(uuid)?.render
    if (render === undefined) return because('amd_gpu_gone')
    const found = await Promise.all([accessOf('kfd'), accessOf(`dri/${render}`)])
    const fault = found.find(isFault)
    return fault ?? found.flatMap(one => (isFault(one) ? [] : [one]))
  }

  /** Names of CDI devices, one for each of these files of /dev/dri; undefined if the engine lacks one. */
  async function namesByCdi(files: readonly DeviceFile[]): Promise<string[] | undefined> {
    const reply: unknown = await engine.calls.info()
    const { DiscoveredDevices, CDISpecDirs } = GpuInfo.parse(reply)
    const listed = DiscoveredDevices && new Set(DiscoveredDevices.map(({ ID }) => ID))
    const offered = (await readCdiDevices(CDISpecDirs ?? [], AMD_KIND)).filter(
      ({ name }) => !listed || listed.has(`${AMD_KIND}=${name}`),
    )
    const names = files.map(({ inContainer }) => offered.find(device => isJust(device, inContainer))?.name)
    return names.every(name => name !== undefined) ? names.map(name => `${AMD_KIND}=${name}`) : undefined
  }

  return {
    async of(uuids) {
      if (uuids.length === 0) return NO_GPUS
      const found = await Promise.all(uuids.map(filesOf))
      const fault = found.find(isFault)
      if (fault) throw new AppError('kernel_create_failed', { ...fault, gpus: uuids.join(',') })
      const accesses = found.flatMap(one => (isFault(one) ? [] : one))
      const files = [...new Map(accesses.map(({ file }) => [file.onHost, file])).values()]
      const names = await namesByCdi(files.filter(({ inContainer }) => inContainer.startsWith('/dev/dri/')))
      const own = uuids.map((_, index) => index).join(',')
      return gpuRequest({
        uuids,
        ...(names ? { deviceRequests: [{ Driver: 'cdi', DeviceIDs: names }] } : { files }),
        groups: [...new Set(accesses.flatMap(({ group }) => group ?? []))],
        // ROCm numbers the GPUs whose files a program can open, so these are all that the session has. An image may name others.
        advice: { ROCR_VISIBLE_DEVICES: own, HIP_VISIBLE_DEVICES: own },
      })
    },
    async problems(uuids) {
      const found = await Promise.all(uuids.map(async uuid => [uuid, await filesOf(uuid)] as const))
      // A GPU that is gone has a problem of its own.
      return new Map(
        found.flatMap(([uuid, one]) =>
          isFault(one) && finder.deviceOf(uuid)?.render !== undefined ? [[uuid, one] as const] : [],
        ),
      )
    },
  }
}

/** Whether the device gives this file of /dev/dri and no other one that programs compute with. */
function isJust({ files }: CdiDevice, render: string): boolean {
  const renders = files.filter(path => path.startsWith('/dev/dri/renderD'))
  return renders.length === 1 && renders[0] === render && files.includes('/dev/kfd')
}

const isFault = (found: Access | readonly Access[] | Because): found is Because => 'why' in found
