import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { allDone } from '#base/all-done'
import {
  appsOfImage,
  type ImageOffer,
  type KernelLabel,
  type KernelSpec,
  type KernelSsh,
  type RegistryAuth,
} from '#agent/contract'
import { AppError, because, type PullProgress } from '#manager/contract'
import {
  containerConfig,
  type ContainerPlan,
  type EngineLimits,
  HOME,
  LATER_FOLDERS,
  sessionEnvironment,
  type SessionUser,
} from '../docker/container-config.ts'
import { type EngineClient, fromEngine } from '../docker/engine-client.ts'
import { type LabelTrust, signKernelLabel, slurmLabels } from '../docker/kernel-labels.ts'
import { type AccountsOfImages } from '../images/image-accounts.ts'
import { ensureImage } from '../images/ensure-image.ts'
import { type HeldImage } from '../images/pull.ts'
import { type ImageTaker } from '../images/take-image.ts'
import { type Devices } from '../gpu/devices.ts'
import { checkGpus } from '../gpu/check-gpus.ts'
import { hostProcesses } from '../limits/host-processes.ts'
import { type ClusterNetworks } from '../network/cluster-networks.ts'
import { type SessionNetworks } from '../network/session-networks.ts'
import { type SessionReach } from '../network/session-reach.ts'
import { type MountedStorage } from '../storage/mounted-storage.ts'
import { dropLink } from '../storage/folder-links.ts'
import { makeMountPoint } from '../storage/mount-points.ts'
import { type Toolbox } from '../toolbox/toolbox.ts'
import { removeContainer } from '../docker/remove-container.ts'
import { type FoundContainer, inspectContainer, listContainers } from './containers.ts'
import { placeDotfiles } from './dotfiles.ts'
import { type KeptLogs } from './kept-logs.ts'
import { type ClusterOfKernel } from './control-files.ts'
import { type KernelFiles } from './kernel-files.ts'
import { type LiveFolders } from './live-folders.ts'
import { startFailure } from './start-failure.ts'
import { type StartPace } from './start-pace.ts'

const run = promisify(execFile)

export interface CreateDeps {
  readonly engine: EngineClient
  readonly networks: SessionNetworks
  readonly clusters: ClusterNetworks
  readonly reach: SessionReach
  readonly files: KernelFiles
  readonly storage: Pick<MountedStorage, 'directoryOf'>
  readonly liveFolders: LiveFolders
  readonly toolbox: Toolbox
  readonly accounts: AccountsOfImages
  readonly keptLogs: Pick<KeptLogs, 'mib'>
  readonly devices: Pick<Devices, 'settled' | 'request' | 'sharesOf' | 'limit'>
  readonly trust: LabelTrust
  readonly pace: StartPace
  readonly taker: Pick<ImageTaker, 'take'>
}

export interface Creation {
  readonly spec: KernelSpec
  readonly label: KernelLabel
  readonly limits: EngineLimits
  /** Cores to pin to; empty = any. */
  readonly cpus: readonly number[]
  readonly signal: AbortSignal
  /** The image, if it was just found on the engine. */
  readonly held?: HeldImage | undefined
  /** Credentials of the registry, in case the image must be pulled. */
  readonly registryAuth?: RegistryAuth | undefined
  /** Where the image comes from another agent. */
  readonly offer?: ImageOffer | undefined
  readonly onPull: (progress: PullProgress) => void
  /** Called when the image is present. */
  readonly onImage: () => void
}

export interface CreatedKernel {
  readonly container: FoundContainer
  readonly ssh: KernelSsh
}

/**
 * Creates everything a kernel needs concurrently, then the container. After a failure or an abort nothing is in progress any
 * more, but finished parts remain: the caller removes them with `undoKernel`.
 */
export async function createKernel(deps: CreateDeps, creation: Creation): Promise<CreatedKernel> {
  try {
    const { spec, signal, registryAuth, onPull } = creation
    // Pulls do not count as starts: a pull takes minutes, and the engine can start containers meanwhile.
    const { offer } = creation
    const fetchImage = () =>
      offer
        ? deps.taker.take(offer, { signal, onProgress: onPull })
        : ensureImage(deps.engine, spec.image, { signal, auth: registryAuth, onPull })
    const image = creation.held ?? (await fetchImage())
    creation.onImage()
    return await deps.pace.run(spec.kernelId, signal, () => build(deps, creation, image))
  } catch (error) {
    throw error instanceof AppError ? error : fromEngine(error, 'kernel_create_failed')
  }
}

/** Removes what a creation may have left behind, complete or not. Safe to repeat. */
export async function undoKernel(
  { engine, files, liveFolders }: Pick<CreateDeps, 'engine' | 'files' | 'liveFolders'>,
  { managerId, kernelId }: KernelLabel,
  leaveNetwork: () => Promise<void>,
): Promise<void> {
  await removeContainersOf(engine, { managerId, kernelId })
  await leaveNetwork()
  await liveFolders.discard(kernelId)
  await files.discard(kernelId, { scratch: 'remove' })
}

async function removeContainersOf(
  engine: EngineClient,
  { managerId, kernelId }: Pick<KernelLabel, 'managerId' | 'kernelId'>,
): Promise<void> {
  for (const id of await listContainers(engine, managerId, kernelId)) await removeContainer(engine, id)
}

async function build(
  deps: CreateDeps,
  { spec, label, limits, cpus, signal }: Creation,
  image: HeldImage,
): Promise<CreatedKernel> {
  const { engine, networks, clusters, files, liveFolders, toolbox, devices, trust } = deps
  const cluster = clusterOf(spec)
  // The first start of an image reads them, while everything else is created.
  const accounts = deps.accounts.of(image)
  // A container left by an agent that crashed while undoing an attempt may hold the network and the devices.
  const cleared = removeContainersOf(engine, label)
  // No leftover can occupy a network that was created in advance: its key is new.
  const networkFree = label.network === undefined ? cleared : Promise.resolve()
  const [toolboxVolume, user, ssh, network, place, gpus] = await allDone([
    toolbox.volume(),
    files.user(),
    files.createControl(spec.kernelId, spec.authorizedKeys, cluster),
    networkFree.then(() => networks.create(label, label.managerId)),
    cleared.then(() => liveFolders.prepare(spec.kernelId)),
    devices.request(spec),
    files.createScratch(spec.kernelId, spec.filesOf),
    cleared.then(() => devices.settled(spec)),
    cleared.then(() => clusters.join(label)),
  ])
  signal.throwIfAborted()
  const proxy = await deps.reach.prepare(label, network)

  const folders = await prepareFolders(deps, spec, { user, signal })
  const { scratch } = files.paths(spec.kernelId)
  const homeVolumes = await prepareVolumes(image.volumes, spec, { home: scratch, user })
  const mounts = (spec.folders ?? []).map(({ path }) => path)
  const placing = { mounts, user, continues: spec.filesOf !== undefined }
  const notes = await placeDotfiles(scratch, spec.dotfiles ?? [], placing)
  const hasStart = await files.writeStart(spec.kernelId, { notes, script: spec.bootstrapScript ?? '' })
  const shares = devices.sharesOf(spec)
  const config = containerConfig(spec, {
    name: `berth-${spec.kernelId.slice(-12)}-${spec.attempt}`,
    image: image.id,
    user,
    networkName: network.name,
    proxy,
    toolboxVolume,
    paths: files.paths(spec.kernelId),
    folders,
    homeVolumes,
    laterFolders: place,
    // App commands come from this engine's copy of the image, never from the manager, which may have them from another agent.
    labels: {
      ...slurmLabels(spec),
      ...signKernelLabel({ ...label, apps: appsOfImage(image.labels) }, trust.labelKey),
    },
    cpus,
    limits,
    hostProcesses: networks.isElsewhere ? undefined : hostProcesses(),
    imageEnvironment: image.environment,
    imageProgram: image.program,
    gpus,
    shares,
    hasStart,
    hasSshConfig: cluster === undefined || (await accounts).sshConfig !== null,
    logMib: deps.keptLogs.mib,
  })
  const [container] = await allDone([
    engine.calls.createContainer(config),
    files.writeEnvironment(spec.kernelId, mergeEnvironment(image.environment, spec, { gpus, shares, proxy })),
    accounts.then(found => files.writeAccounts(spec.kernelId, found, cluster)),
  ])
  for (const volume of homeVolumes) await ownFilled(volume, user)
  await clusters.attach(container.id, label)
  signal.throwIfAborted()
  await container.start().catch((error: unknown) => {
    throw startFailure(error)
  })
  signal.throwIfAborted()
  const find = () =>
    inspectContainer(engine, container.id, {
      trust,
      bootedAtSeconds: undefined,
      endedWhileEngineWasAway: false,
      ranUnderEngine: true,
    })
  const found = await find()
  if (!found) throw new AppError('kernel_create_failed', because('container_removed_starting'))
  signal.throwIfAborted()
  if (found.state.state === 'running') {
    const hasEnded = async () => (await find())?.state.state === 'exited'
    if (gpus.unsure.length > 0) await checkGpus(engine, { container: found, uuids: gpus.unsure, hasEnded })
    await devices.limit(spec, found.pid, hasEnded)
  }
  // The last step: until here the start may be undone, and then the files return to the kernel from which they came.
  signal.throwIfAborted()
  await files.ownScratch(spec.kernelId)
  return { container: found, ssh }
}

/** The session of the kernel, if it has several. */
function clusterOf({ clusterSize: size = 1, clusterSeed: seed, slots }: KernelSpec): ClusterOfKernel | undefined {
  if (size === 1) return undefined
  return { size, seed, slots: slots['cuda.device'] ?? Math.max(1, Math.floor((slots.cpu ?? 0) / 1000)) }
}

/** Finds the folders of the session on this host, gives them to the user of sessions, and creates their mount points in the home. */
async function prepareFolders(
  { files, storage }: Pick<CreateDeps, 'files' | 'storage'>,
  { kernelId, folders = [] }: KernelSpec,
  { user, signal }: { user: SessionUser; signal: AbortSignal },
): Promise<ContainerPlan['folders']> {
  const home = files.paths(kernelId).scratch
  const prepared: ContainerPlan['folders'][number][] = []
  for (const folder of folders) {
    signal.throwIfAborted()
    const source = await storage.directoryOf(folder)
    await files.ownFolder(source, signal)
    // The home may come from a session to which the folder was added while it ran.
    await dropLink(home, folder.path, target => target.startsWith(`${LATER_FOLDERS}/`))
    await makeMountPoint(home, folder.path, user)
    prepared.push({ source, target: `${HOME}/${folder.path}`, readOnly: folder.readOnly })
  }
  return prepared
}

interface HomeVolume {
  readonly source: string
  readonly target: string
  /** True if it was empty before the container was created. */
  readonly isNew: boolean
}

/**
 * Creates directories in the home for the volumes that the image declares there. A folder of the session at the same path has precedence.
 * @throws `kernel_create_failed` if an earlier session left a file or a link in the way
 */
async function prepareVolumes(
  volumes: readonly string[],
  { folders = [] }: KernelSpec,
  { home, user }: { home: string; user: SessionUser },
): Promise<HomeVolume[]> {
  const prepared: HomeVolume[] = []
  for (const target of volumes) {
    const path = target.startsWith(`${HOME}/`) ? target.slice(HOME.length + 1) : ''
    const isIn = (folder: string) => path === folder || path.startsWith(`${folder}/`)
    if (path === '' || folders.some(folder => isIn(folder.path))) continue
    // No link is followed, and no program of a session runs in this home now, so the mounted directory is in the home.
    await makeMountPoint(home, path, user)
    const source = join(home, path)
    prepared.push({ source, target, isNew: (await readdir(source)).length === 0 })
  }
  return prepared
}

/** Gives the files that Docker has copied from the image to the user of sessions, like everything in a home. */
async function ownFilled({ source, isNew }: HomeVolume, { uid, gid }: SessionUser): Promise<void> {
  if (isNew && process.getuid?.() === 0) await run('chown', ['-hR', `${uid}:${gid}`, '--', source])
}

/** Environment of logins, which inherit nothing from the container: the image's variables, overridden by the session's. */
export function mergeEnvironment(
  image: readonly string[],
  spec: KernelSpec,
  held: Pick<ContainerPlan, 'gpus' | 'shares' | 'proxy'>,
): string[] {
  const own = sessionEnvironment(spec, image, held)
  const inherited = image.filter(line => !Object.hasOwn(own, line.split('=', 1)[0] ?? ''))
  return [...inherited, ...Object.entries(own).map(([name, value]) => `${name}=${value}`)]
}
