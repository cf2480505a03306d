import { readFile } from 'node:fs/promises'
import { type FromAgent } from '#agent/contract'
import { localCores } from '../capacity.ts'
import { type Config } from '../config.ts'
import { type Identity } from '../control/identity.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { createAccountsOfImages } from '../images/image-accounts.ts'
import { type ImageTaker } from '../images/take-image.ts'
import { bootTime } from '../kernel/exit.ts'
import { createKernelManager, type KernelManager } from '../kernel/kernel-manager.ts'
import { createKeptLogs } from '../kernel/kept-logs.ts'
import { createLiveFolders } from '../kernel/live-folders.ts'
import { type Log } from '../log.ts'
import { type HostPart } from './host-part.ts'

export interface KernelsPartDeps {
  readonly config: Config
  readonly engine: EngineClient
  readonly host: HostPart
  readonly identity: Identity
  readonly taker: ImageTaker
  /** @throws `engine_already_managed` */
  readonly holdEngine: () => Promise<void>
  readonly notify: (message: FromAgent) => void
  /** Ends the connections to the address of a kernel. */
  readonly releaseAddress: (kernelId: string) => Promise<void>
  readonly onChange: () => void
  readonly log: Log
}

/** Creates the kernels of this host, and the parts that only kernels use. */
export async function createKernelsPart(deps: KernelsPartDeps): Promise<KernelManager> {
  const { config, engine, host, identity, taker, notify, releaseAddress, onChange, log } = deps
  const { networks, clusters, reach, files, storage, toolbox, devices } = host
  const { directory, networksAhead } = config
  const { agentId } = identity
  return createKernelManager({
    engine,
    networks,
    clusters,
    reach,
    files,
    storage,
    liveFolders: createLiveFolders({ directory, files, storage, onChange, log }),
    toolbox,
    keptLogs: createKeptLogs({ ...config, engine }),
    accounts: createAccountsOfImages(engine, { reader: `berth-accounts-${agentId.slice(-12)}`, log }),
    devices,
    taker,
    trust: identity,
    agentId,
    verifyEngine: deps.holdEngine,
    bootedAtSeconds: bootTime(await readFile('/proc/stat', 'utf8').catch(() => '')),
    cores: await localCores(),
    networksAhead,
    onChange(kernel) {
      notify({ type: 'kernel_changed', kernel, ageMs: 0 })
      if (kernel.state.state !== 'running') void releaseAddress(kernel.kernelId)
      onChange()
    },
    releaseAddress,
    onRemoved: onChange,
    onPull: (kernelId, progress) => notify({ type: 'pull', kernelId, progress }),
    log,
  })
}
