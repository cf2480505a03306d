import { AppError, because, type ManagerId } from '#manager/contract'
import { type Config } from '../config.ts'
import { type EngineClient, parseDockerHost } from '../docker/engine-client.ts'
import { createDirectoryApart } from '../faults/directory-apart.ts'
import { createEngineDisk } from '../faults/engine-disk.ts'
import { createHealthCheck, type HealthCheck } from '../faults/health-command.ts'
import { createHostFaults } from '../faults/host-faults.ts'
import { createOwnDisks } from '../faults/own-disks.ts'
import { createTestStart, createTestStarts } from '../faults/test-starts.ts'
import { type Devices, type DevicesDeps, openDevices } from '../gpu/devices.ts'
import { createAmdPlugin } from '../gpu/amd-plugin.ts'
import { createNvidiaPlugin } from '../gpu/nvidia-plugin.ts'
import { createSimulatedGpus } from '../gpu/simulated.ts'
import { createKernelFiles, type KernelFiles } from '../kernel/kernel-files.ts'
import { createFreeSpace, type FreeSpace } from '../limits/free-space.ts'
import { type Log } from '../log.ts'
import { type ClusterNetworks, openClusterNetworks } from '../network/cluster-networks.ts'
import { containerIptables } from '../network/container-iptables.ts'
import { type Firewall, startFirewall } from '../network/firewall.ts'
import { createNameProxy } from '../network/name-proxy.ts'
import { createPublicAddresses } from '../network/public-addresses.ts'
import { createSessionNetworks, type SessionNetworks } from '../network/session-networks.ts'
import { createSessionReach, type SessionReach } from '../network/session-reach.ts'
import { createMountedStorage, type MountedStorage } from '../storage/mounted-storage.ts'
import { createToolbox, type Toolbox } from '../toolbox/toolbox.ts'

export interface HostPartDeps {
  readonly config: Config
  readonly engine: EngineClient
  /** Undefined until a manager has accepted this agent. */
  readonly manager: () => ManagerId | undefined
  /** UUIDs of devices held by kernels, including kernels that are being started. */
  readonly devicesHeld: () => ReadonlySet<string>
  /** False until the kernels are known, because the free resources are unknown until then. */
  readonly isEngineUp: () => boolean
  readonly onChange: () => void
  /** Called once when a GPU that kernels hold has failed. */
  readonly onGpuFailed: DevicesDeps['onFailed']
  readonly log: Log
}

/**
 * Everything that this host provides to sessions: networks behind the firewall, GPUs, disks, storages and the toolbox; and the host's
 * faults.
 */
export interface HostPart extends AsyncDisposable {
  readonly networks: SessionNetworks
  readonly clusters: ClusterNetworks
  readonly firewall: Firewall
  /** Sessions without network, or with an allow list. */
  readonly reach: SessionReach
  readonly devices: Devices
  readonly freeSpace: FreeSpace
  readonly files: KernelFiles
  readonly storage: MountedStorage
  readonly toolbox: Toolbox
  readonly faults: ReturnType<typeof createHostFaults>
  /** Undefined if the administrator has set no command. */
  readonly health: HealthCheck | undefined
}

/** @throws `config_invalid` */
export async function openHostPart(deps: HostPartDeps): Promise<HostPart> {
  const { config, engine, manager, isEngineUp, onChange, log } = deps
  await using stack = new AsyncDisposableStack()
  const networks = createSessionNetworks(engine, { range: config.networkRange, onChange })
  const { toolboxImage: image, toolboxArchive: archive } = config
  const toolbox = createToolbox({ engine, image, archive, onChange, log })
  const testStart = createTestStart({ engine, toolbox, image })
  const isLocal = 'socketPath' in parseDockerHost(config.dockerHost)
  const isEngineHere = () => isLocal && !networks.isElsewhere
  const { sharedGpus: shared, gpuProbeImage: probeImage, simulatedGpus } = config
  // A host may have GPUs of several makers. A plugin whose driver is not there finds none.
  const plugins =
    simulatedGpus === undefined
      ? [
          createNvidiaPlugin({ engine, isEngineHere, shared, probeImage }),
          createAmdPlugin({ engine, isEngineHere, shared }),
        ]
      : [createSimulatedGpus(simulatedGpus)]
  const devices = stack.use(
    await openDevices({
      plugins,
      testStart: gpus => testStart({ gpus }),
      held: deps.devicesHeld,
      isEngineUp,
      guard: config.gpuGuard,
      seesProcesses: isEngineHere,
      onChange,
      onFailed: deps.onGpuFailed,
      log,
    }),
  )
  const clusters = await openClusterNetworks({
    engine,
    address: config.clusterAddress,
    firewall: () => firewall,
    isEngineElsewhere: () => networks.isElsewhere,
    log,
  })
  const firewall = stack.use(
    startFirewall({
      range: config.networkRange,
      deny: config.networkDeny,
      proxyPort: config.proxyPort,
      // The links of the kernel are the record of the hosts: it outlives the agent.
      clusterPeers: () => clusters.peers(),
      async checkRange() {
        await networks.checkRange()
        if (networks.isElsewhere) throw new AppError('unavailable', because('engine_elsewhere'))
      },
      // A user of the engine can set rules too, by a container.
      iptables: process.getuid?.() === 0 ? undefined : containerIptables({ engine, image }),
      log,
      onChange,
    }),
  )
  const proxy = stack.use(
    createNameProxy({
      port: config.proxyPort,
      isAllowed: createPublicAddresses([config.networkRange, ...config.networkDeny]),
      log,
    }),
  )
  const reach = createSessionReach({ firewall: () => firewall, proxy, log })
  const freeSpace = createFreeSpace({
    path: config.scratchDirectory,
    floorBytes: config.freeSpaceFloorBytes,
    onChange,
  })
  const health = config.health && stack.use(createHealthCheck({ ...config.health, onChange, log }))
  const faults = createHostFaults([
    ...(health ? [health] : []),
    createDirectoryApart([config.directory, config.scratchDirectory], onChange),
    freeSpace,
    createOwnDisks({ ...config, onChange }),
    createEngineDisk({ engine, floorBytes: config.freeSpaceFloorBytes, onChange }),
    toolbox,
    createTestStarts({ testStart, networks, manager, onChange }),
  ])
  const files = createKernelFiles({ ...config, onShort: () => freeSpace.check() })
  const storage = createMountedStorage(config.storage, onChange)
  const opened = stack.move()
  return {
    networks,
    clusters,
    firewall,
    reach,
    devices,
    freeSpace,
    files,
    storage,
    toolbox,
    faults,
    health,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
