import { type HostConfig } from 'dockerode'

/** A device file by its absolute paths. */
export interface DeviceFile {
  readonly onHost: string
  readonly inContainer: string
}

/**
 * Parts of the options of a container that are for its GPUs. The plugin of each maker makes the request for its own GPUs
 * (`gpu/gpu-plugin.ts`); containers are built from the joined request, without knowing any maker.
 */
export interface GpuRequest {
  /** The GPUs, by UUID. */
  readonly uuids: readonly string[]
  /** Requests to drivers of the engine, such as CDI. */
  readonly deviceRequests: NonNullable<HostConfig['DeviceRequests']>
  /** Device files that the container gets, readable and writable. */
  readonly files: readonly DeviceFile[]
  /** Groups of the host, by id, that may use the files. */
  readonly groups: readonly number[]
  /** Variables by which runtimes decide which GPUs a container gets. The user and the image cannot change them. */
  readonly environment: Readonly<Record<string, string>>
  /** Variables that tell programs which GPUs are theirs. They override the image's, and the user's override them. */
  readonly advice: Readonly<Record<string, string>>
  /** GPUs that were named by an index, which may have moved: they are checked in the container. */
  readonly unsure: readonly string[]
}

/**
 * Variables that keep the runtimes of makers from adding GPUs: if such a runtime is the engine's default, images could have all GPUs by
 * setting the variable themselves.
 */
const HIDDEN = { NVIDIA_VISIBLE_DEVICES: 'void', AMD_VISIBLE_DEVICES: 'none' } as const

export const NO_GPUS: GpuRequest = {
  uuids: [],
  deviceRequests: [],
  files: [],
  groups: [],
  environment: HIDDEN,
  advice: {},
  unsure: [],
}

/** A request with these parts. @param parts what differs from a request for nothing */
export const gpuRequest = (parts: Partial<GpuRequest>): GpuRequest => ({
  ...NO_GPUS,
  ...parts,
  environment: { ...HIDDEN, ...parts.environment },
})

/** The requests of several makers as one. */
export function joinGpuRequests(requests: readonly GpuRequest[]): GpuRequest {
  const unique = <T>(items: readonly T[]) => [...new Set(items)]
  return gpuRequest({
    uuids: requests.flatMap(({ uuids }) => uuids),
    deviceRequests: requests.flatMap(({ deviceRequests }) => deviceRequests),
    files: requests.flatMap(({ files }) => files),
    groups: unique(requests.flatMap(({ groups }) => groups)),
    environment: Object.assign({}, ...requests.map(own)) as Record<string, string>,
    advice: Object.assign({}, ...requests.map(({ advice }) => advice)) as Record<string, string>,
    unsure: requests.flatMap(({ unsure }) => unsure),
  })
}

/** Options of a container for the request. */
export function gpuOptions({
  deviceRequests,
  files,
  groups,
}: GpuRequest): Pick<HostConfig, 'DeviceRequests' | 'Devices' | 'GroupAdd'> {
  return {
    ...(deviceRequests.length > 0 ? { DeviceRequests: deviceRequests } : {}),
    ...(files.length > 0
      ? {
          Devices: files.map(({ onHost, inContainer }) => ({
            PathOnHost: onHost,
            PathInContainer: inContainer,
            CgroupPermissions: 'rw',
          })),
        }
      : {}),
    ...(groups.length > 0 ? { GroupAdd: groups.map(String) } : {}),
  }
}

/** Variables of a request without those by which it hides the GPUs of other makers. */
const own = ({ environment }: GpuRequest) =>
  Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => (HIDDEN as Record<string, string>)[name] !== value),
  )
