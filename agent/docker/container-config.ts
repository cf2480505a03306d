import { type ContainerCreateOptions, type MountSettings } from 'dockerode'
import { type KernelSpec, LABEL_KERNEL_ID, LABEL_MANAGER, SSHD_PORT } from '#agent/contract'
import { AppError, because, clusterRoles } from '#manager/contract'
import { clusterAdvice, clusterEnvironment, isCluster } from './cluster-environment.ts'
import { processLimit } from './process-limit.ts'
import { gpuOptions, type GpuRequest } from './gpu-request.ts'
import { type GpuShare, shareEnvironment } from './share-environment.ts'
import { startScript } from './start-script.ts'

/** Owner of every session's files and processes on this storage host. */
export interface SessionUser {
  readonly uid: number
  readonly gid: number
}

/** The engine's limits that a container's limits depend on. */
export interface EngineLimits {
  readonly cpus: number
  readonly memBytes: number
}

/** The program that an image starts by default. */
export interface ImageProgram {
  /** ENTRYPOINT, then CMD; empty if the image has neither. */
  readonly command: readonly string[]
  /** WORKDIR; `/` if the image sets none. */
  readonly directory: string
}

export interface ContainerPlan {
  readonly name: string
  /** Image id: a tag that moves in the meantime has no effect. */
  readonly image: string
  readonly user: SessionUser
  readonly networkName: string
  /** Address of the proxy of a session with an allow list. */
  readonly proxy?: string | undefined
  readonly toolboxVolume: string
  /** Absolute paths on the engine's host. */
  readonly paths: { readonly scratch: string; readonly control: string; readonly etc: string }
  /** Folders: directories of the engine's host, with their paths in the session. */
  readonly folders: readonly { readonly source: string; readonly target: string; readonly readOnly: boolean }[]
  /** Directories of the home for paths in it that the image declares as volumes; they are filled from the image. */
  readonly homeVolumes?: readonly { readonly source: string; readonly target: string }[]
  /** Directory of the host in which folders can be mounted later; undefined if that is not possible. */
  readonly laterFolders?: string | undefined
  readonly labels: Readonly<Record<string, string>>
  /** Cores to pin to; empty = any. */
  readonly cpus: readonly number[]
  readonly limits: EngineLimits
  /** Processes and threads that the engine's host can have; undefined if unknown. */
  readonly hostProcesses?: number | undefined
  /** `NAME=value`, as the image sets them. */
  readonly imageEnvironment: readonly string[]
  readonly imageProgram: ImageProgram
  /** Request for the GPUs of the session; if left out, it gets none. */
  readonly gpus: GpuRequest
  /** Parts of shared GPUs that the session holds. */
  readonly shares: readonly GpuShare[]
  /** Whether the control directory has notes or a script for the start. */
  readonly hasStart: boolean
  /** False if the image has no room for the settings of SSH among the kernels of a session. */
  readonly hasSshConfig?: boolean
  /** Size of the log that can be read after the session's end, in MiB. */
  readonly logMib?: number
}

export const HOME = '/home/work'
export const TOOLBOX = '/opt/berth'
/** Directory of folders that are added while a session runs; links in the home lead here. */
export const LATER_FOLDERS = '/run/berth-folders'
const BUSYBOX = `${TOOLBOX}/bin/busybox`
const SHELL = `${TOOLBOX}/bin/berth-shell`
/** Terminals per session; the host has 4096 for all (kernel.pty.max). */
const PTY_LIMIT = 64
/** Options of the volume that is mounted at /dev/pts. */
export const TERMINALS = {
  type: 'devpts',
  device: 'devpts',
  o: `newinstance,ptmxmode=0666,mode=0620,gid=5,max=${PTY_LIMIT},nosuid,noexec`,
} as const
/** File systems mounted below a folder on the host are not included, neither now nor later. */
const NOTHING_BELOW = { Propagation: 'rprivate', NonRecursive: true } as const
/**
 * Mounts that the agent makes in this directory on the host appear in the container, but not the other way round (ADR 57). The directory
 * belongs to root and holds only mount points: a session can neither write in it nor reach the mounts of another.
 */
const LATER = { Propagation: 'rslave', NonRecursive: true } as const
/** Docker 29 deprecates the form with a colon; every engine accepts the plain one. */
export const NO_NEW_PRIVILEGES = 'no-new-privileges'
/**
 * Where the resolver of the engine in a session without network, or with an allow list, sends the names that it does not know itself: an
 * address that nobody has, and to which the session has no route. Engines before Docker 26 ask the servers of the host, also for a network
 * without a way out (CVE-2024-29018), and every question would carry data. @see RFC 5737
 */
const NO_RESOLVER = '192.0.2.1'
/** Docker refuses a smaller limit. */
const MINIMUM_MEMORY = 6 * 2 ** 20

/**
 * Complete configuration of a session container, built from an allowlist: nothing in a request reaches the engine unless it is named here.
 * Never set are, in particular: privileged, host network, PID or IPC, published ports, device paths other than those of its GPUs, added capabilities, an entry point or
 * a health check of the image. Seccomp is not mentioned, so it stays the engine's default.
 *
 * @throws `request_too_large` if the engine could never give that much; `bad_request` for amounts without meaning
 */
export function containerConfig(spec: KernelSpec, plan: ContainerPlan): ContainerCreateOptions {
  const cpu = spec.slots.cpu ?? 0
  const mem = spec.slots.mem ?? 0
  if (cpu <= 0 || mem < MINIMUM_MEMORY) {
    throw new AppError('bad_request', { ...because('session_needs_some'), cpu, mem })
  }
  if (cpu > plan.limits.cpus * 1000) {
    throw new AppError('request_too_large', because('host_has_cpus', { cpus: plan.limits.cpus, asked: cpu / 1000 }))
  }
  if (mem > plan.limits.memBytes) {
    throw new AppError('request_too_large', because('host_has_memory', { bytes: plan.limits.memBytes, asked: mem }))
  }
  const { uid, gid } = plan.user
  return {
    name: plan.name,
    Image: plan.image,
    Hostname: isCluster(spec) ? spec.role : hostName(spec.sessionName),
    User: `${uid}:${gid}`,
    WorkingDir: HOME,
    Env: Object.entries(sessionEnvironment(spec, plan.imageEnvironment, plan)).map(
      ([name, value]) => `${name}=${value}`,
    ),
    // Docker takes an empty list as "without the image's entry point".
    Entrypoint: [],
    Cmd: [...before(spec, plan), ...mainProcess(spec, plan.imageProgram)],
    Labels: { ...plan.labels },
    // If left out, the image's health check would run.
    Healthcheck: { Test: ['NONE'] },
    StopSignal: 'SIGTERM',
    HostConfig: {
      NanoCpus: cpu * 1_000_000,
      ...(plan.cpus.length > 0 ? { CpusetCpus: plan.cpus.join(',') } : {}),
      Memory: mem,
      // Sum of memory and swap, so there is no swap, whatever the host has.
      MemorySwap: mem,
      ShmSize: Math.min(Math.max(spec.shmemBytes, 2 ** 20), mem),
      PidsLimit: processLimit({ mem, hostMem: plan.limits.memBytes, hostProcesses: plan.hostProcesses }),
      Init: true,
      SecurityOpt: [NO_NEW_PRIVILEGES],
      CapDrop: ['ALL'],
      IpcMode: 'private',
      NetworkMode: plan.networkName,
      ...(spec.allowedNames === undefined ? {} : { Dns: [NO_RESOLVER] }),
      ...(spec.cluster ? { ExtraHosts: spec.cluster.kernels.map(one => `${one.role}:${one.address}`) } : {}),
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': `${engineFileMib(plan.logMib)}m`, 'max-file': '3' } },
      Mounts: [
        { Type: 'volume', Source: plan.toolboxVolume, Target: TOOLBOX, ReadOnly: true },
        { Type: 'bind', Source: `${plan.paths.etc}/passwd`, Target: '/etc/passwd', ReadOnly: true },
        { Type: 'bind', Source: `${plan.paths.etc}/group`, Target: '/etc/group', ReadOnly: true },
        { Type: 'bind', Source: `${plan.paths.etc}/shells`, Target: '/etc/shells', ReadOnly: true },
        { Type: 'bind', Source: `${plan.paths.etc}/profile.sh`, Target: '/etc/profile.d/00-berth.sh', ReadOnly: true },
        { Type: 'bind', Source: plan.paths.control, Target: '/run/berth', ReadOnly: true },
        { Type: 'bind', Source: plan.paths.scratch, Target: HOME, ReadOnly: false },
        ...(isCluster(spec) && plan.hasSshConfig !== false ? [clientSettings(plan.paths.etc)] : []),
        ...(plan.homeVolumes ?? []).map(volume => homeVolume(volume, plan.labels)),
        ...plan.folders.map(({ source, target, readOnly }): MountSettings => ({
          Type: 'bind',
          Source: source,
          Target: target,
          ReadOnly: readOnly,
          BindOptions: NOTHING_BELOW,
        })),
        ...(plan.laterFolders === undefined ? [] : [laterFolders(plan.laterFolders)]),
        terminals(plan.labels),
      ],
      ...gpuOptions(plan.gpus),
    },
    // Names of a session over several hosts are those of ExtraHosts, also on the same host.
    ...(isCluster(spec) && !spec.cluster
      ? { NetworkingConfig: { EndpointsConfig: { [plan.networkName]: { Aliases: [spec.role] } } } }
      : {}),
  }
}

/** Size of each of the three files in which the engine keeps a log. @param logMib size that can be read after the end */
export const engineFileMib = (logMib = 0) => Math.max(logMib, 10)

/** Settings of the SSH client of a kernel that has others. */
const clientSettings = (etc: string): MountSettings => ({
  Type: 'bind',
  Source: `${etc}/ssh_config`,
  Target: '/etc/ssh/ssh_config',
  ReadOnly: true,
})

function laterFolders(Source: string): MountSettings {
  return { Type: 'bind', Source, Target: LATER_FOLDERS, ReadOnly: true, BindOptions: LATER }
}

/**
 * The mount of a session's terminal devices: like Docker's own, with a limit added. The volume is anonymous, so it is removed with the
 * container; it is labelled, so that the sweep finds it if something else removed the container without it. Every mount of a devpts is a
 * separate instance.
 *
 * @see Linux Documentation/filesystems/devpts.rst
 */
function terminals(labels: Readonly<Record<string, string>>): MountSettings {
  const DriverConfig = { Name: 'local', Options: { ...TERMINALS } }
  return {
    Type: 'volume',
    Source: '',
    Target: '/dev/pts',
    VolumeOptions: { NoCopy: true, Labels: sweptBy(labels), DriverConfig },
  }
}

/** Only the labels that the sweep filters by: the signed label belongs to the container alone. */
function sweptBy(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    [LABEL_MANAGER, LABEL_KERNEL_ID].flatMap(name => (labels[name] === undefined ? [] : [[name, labels[name]]])),
  )
}

/**
 * A volume of the image that is a directory of the home: its files are kept and counted with the home. As a volume, Docker fills it from
 * the image if it is empty; a bind mount would stay empty. The volume is removed with the container, but the directory is not.
 */
function homeVolume(
  { source, target }: { readonly source: string; readonly target: string },
  labels: Readonly<Record<string, string>>,
): MountSettings {
  const DriverConfig = { Name: 'local', Options: { type: 'none', o: 'bind', device: source } }
  return {
    Type: 'volume',
    Source: '',
    Target: target,
    VolumeOptions: { NoCopy: false, Labels: sweptBy(labels), DriverConfig },
  }
}

/**
 * Berth's variables, which override the user's; the image's own variables are lowest. Settings of frameworks for a share of a GPU
 * are advice, and give way to both.
 */
export function sessionEnvironment(
  spec: KernelSpec,
  image: readonly string[],
  { gpus, shares, proxy }: Pick<ContainerPlan, 'gpus' | 'shares' | 'proxy'>,
): Record<string, string> {
  const isSet = (name: string) =>
    Object.hasOwn(spec.environ, name) || image.some(line => line === name || line.startsWith(`${name}=`))
  const simulated = spec.devices.filter(device => isSimulated(device.uuid)).map(device => device.uuid)
  return {
    ...(image.some(line => line.startsWith('LANG=')) ? {} : { LANG: 'C.UTF-8' }),
    ...gpus.advice,
    ...spec.environ,
    PATH: searchPath(spec.environ.PATH ?? imagePath(image)),
    BERTH_SESSION_ID: spec.sessionId,
    BERTH_SESSION_NAME: spec.sessionName,
    ...clusterEnvironment(spec),
    ...clusterAdvice(spec, isSet),
    ...proxyEnvironment(spec, proxy),
    ...shareEnvironment(shares, isSet),
    ...(simulated.length > 0 ? { BERTH_SIMULATED_GPUS: simulated.join(',') } : {}),
    ...gpus.environment,
    HOME,
    USER: 'work',
    LOGNAME: 'work',
  }
}

/** The engine's default path, used if the image sets none. */
const USUAL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

function imagePath(image: readonly string[]): string {
  return image.find(line => line.startsWith('PATH='))?.slice('PATH='.length) ?? USUAL_PATH
}

/** Programs that the user has installed, for example by `pip install --user`. */
const USER_PROGRAMS = `${HOME}/.local/bin`

/**
 * The toolbox and the user's programs come last in the path: so an image keeps its own Python, ssh or bash, in terminals and in apps, even
 * if `.local` is a folder with programs for other images.
 */
function searchPath(path: string): string {
  const own = (path || USUAL_PATH).split(':')
  return [...own, ...(own.includes(USER_PROGRAMS) ? [] : [USER_PROGRAMS]), `${TOOLBOX}/bin`].join(':')
}

/** Variables by which programs find the proxy; both cases, because curl reads `http_proxy` only, and others read the other one first. */
function proxyEnvironment({ clusterSize = 1 }: KernelSpec, proxy: string | undefined): Record<string, string> {
  if (proxy === undefined) return {}
  const own = ['localhost', '127.0.0.1', '::1', ...(clusterSize > 1 ? clusterRoles(clusterSize) : [])].join(',')
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: own,
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: own,
    // Node reads the variables only if it is told to. @see https://nodejs.org/api/cli.html#node_use_env_proxy1
    NODE_USE_ENV_PROXY: '1',
  }
}

/** Whether a device belongs to the simulated plugin; such devices exist in the accounting only. */
export function isSimulated(uuid: string): boolean {
  return uuid.startsWith('SIM-')
}

/** UUIDs of the session's GPUs and MIG instances. */
export function gpusOf(spec: Pick<KernelSpec, 'devices'>): string[] {
  return [...new Set(spec.devices.map(device => device.uuid))].filter(uuid => !isSimulated(uuid))
}

/**
 * Main process of the container. A batch session is its command and lives as long as the command; an interactive session runs the command,
 * then idles until it is destroyed. The command is an argument, never part of a script.
 *
 * @throws `image_without_program` if the image's program is requested
 */
function mainProcess(spec: KernelSpec, program: ImageProgram): string[] {
  const command = commandOf(spec, program)
  if (command.length === 0) return [BUSYBOX, 'sleep', 'infinity']
  return (spec.kind ?? 'batch') === 'batch' ? command : [BUSYBOX, 'sh', '-c', RUN_AND_STAY, 'berth', ...command]
}

/** Scripts that run before the main process and replace themselves with it. */
function before(spec: KernelSpec, { hasStart }: Pick<ContainerPlan, 'hasStart'>): string[] {
  return [
    ...(isCluster(spec) ? [BUSYBOX, 'sh', '-c', WITH_SSH, 'berth'] : []),
    ...(hasStart ? [BUSYBOX, 'sh', '-c', startScript(BUSYBOX, SHELL), 'berth'] : []),
  ]
}

/**
 * Shell script that starts the SSH server, through which the kernels of a session reach each other. The server is no child of the command,
 * which may wait for all its children.
 */
const WITH_SSH = `(${TOOLBOX}/bin/berth-sshd ${SSHD_PORT} < /dev/null > /dev/null 2>&1 &)
exec "$@"`

/** The start-up command, or the program of the image. Empty if there is none. */
function commandOf({ startupCommand, runImageCommand }: KernelSpec, program: ImageProgram): string[] {
  if (runImageCommand) {
    if (program.command.length > 0) return [BUSYBOX, 'sh', '-c', RUN_IN, 'berth', program.directory, ...program.command]
    throw new AppError('image_without_program', because('image_has_no_program'))
  }
  if (startupCommand === null || startupCommand.trim() === '') return []
  return [SHELL, '-c', startupCommand]
}

/** Shell script: runs a program in a directory, or in the home if the user may not enter the directory. */
const RUN_IN = 'cd "$1" 2>/dev/null; shift; exec "$@"'

/** Shell script: runs the command, forwards SIGTERM so that the command can end cleanly, and logs how it ended. */
const RUN_AND_STAY = `"$@" & command=$!
trap 'kill -TERM $command 2>/dev/null; wait $command; exit 143' TERM
wait $command
code=$?
[ $code -eq 0 ] || echo "The start-up command ended with exit code $code; the session continues." >&2
trap - TERM
exec ${BUSYBOX} sleep infinity`

/** RFC 1123 label: letters, digits and inner hyphens, at most 63. */
function hostName(sessionName: string): string {
  const name = sessionName
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '')
  return name || 'session'
}

/**
 * Cores to pin a session to, so that `nproc` in it shows the requested number: the request rounded up, least used cores first. Empty (no
 * pinning) if that would be every core.
 *
 * @param cpuMilli 1/1000 core @param cores number of cores of the engine @param pinned cores of the other sessions
 */
export function chooseCores(cpuMilli: number, cores: number, pinned: readonly (readonly number[])[]): number[] {
  const wanted = Math.ceil(cpuMilli / 1000)
  if (wanted >= cores) return []
  const use = Array.from({ length: cores }, () => 0)
  for (const core of pinned.flat()) if (core < cores) use[core] = (use[core] ?? 0) + 1
  return use
    .map((count, core) => ({ count, core }))
    .toSorted((a, b) => a.count - b.count || a.core - b.core)
    .slice(0, wanted)
    .map(({ core }) => core)
    .toSorted((a, b) => a - b)
}
