import { isIPv4 } from 'node:net'
import { hostname } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { isHostAddress } from '#agent/contract'
import { AppError, StoragePaths, TextUpTo } from '#manager/contract'
import { parseJoinString, type JoinInvitation } from './control/join-string.ts'
import { type HealthCommand } from './faults/health-command.ts'
import { type DiskLimits } from './limits/disk-rules.ts'
import { GPU_GUARD_MODES, type GpuGuardMode } from './gpu/gpu-guard-mode.ts'
import { type Cidr, parseCidr, SESSION_BITS } from './network/subnets.ts'
import { type StoragePath } from './storage/mounted-storage.ts'

export interface Config {
  /** DATA/agent, absolute. */
  readonly directory: string
  readonly scratchDirectory: string
  readonly managerUrl: string | undefined
  readonly invitation: JoinInvitation | undefined
  /** Replace the agent named in the invitation. */
  readonly replace: boolean
  readonly dockerHost: string | undefined
  readonly name: string
  readonly networkRange: Cidr
  /** Address of this host in a private network with other hosts; undefined: it takes no part in sessions over several hosts. */
  readonly clusterAddress: string | undefined
  /** Number of empty networks to keep for future sessions. */
  readonly networksAhead: number
  /** CIDRs that sessions may not reach. */
  readonly networkDeny: readonly Cidr[]
  /** Port of the proxy by which sessions with an allow list reach names, on the bridge of each. */
  readonly proxyPort: number
  /** UUIDs of the GPUs that are shared in parts (`all` = every GPU) until an admin sets a mode; other GPUs are given out whole. */
  readonly sharedGpus: ReadonlySet<string>
  /** Fate of a session that uses more memory of a shared GPU than its share. */
  readonly gpuGuard: GpuGuardMode
  /** Command of the administrator that decides whether this host takes sessions; undefined: none. */
  readonly health: HealthCommand | undefined
  /** Image with python3, in which the agent tests whether GPU memory limits are enforced. */
  readonly gpuProbeImage: string
  /** Path of the TOML file that describes simulated GPUs; undefined: the agent looks for NVIDIA GPUs. */
  readonly simulatedGpus: string | undefined
  readonly toolboxImage: string
  /** Archive of `docker save` from which the toolbox image is loaded if the engine lacks it; absolute. */
  readonly toolboxArchive: string | undefined
  /** Architectures of images, beside the host's own, that it runs with an emulator. */
  readonly emulated: readonly string[]
  readonly claimVolume: string
  /** Remove what sessions have left on the engine, instead of running an agent; `images`: also the images of Berth. */
  readonly leave: 'engine' | 'images' | undefined
  /** Whether systemd has started this process. */
  readonly isService: boolean
  /** Whether managers may replace the program of this agent. */
  readonly updates: boolean
  readonly freeSpaceFloorBytes: number
  readonly scratchRetentionMs: number
  /** Size of the log that is kept of each ended kernel, in MiB; 0: only the end of the log is kept. */
  readonly logMib: number
  /** Limits of the files of one session. */
  readonly homeLimits: DiskLimits
  readonly storage: readonly StoragePath[]
  /** Key of the direct path (ADR 41): `berth up` gives it to its agent and its console. */
  readonly directKey: string | undefined
  readonly logLevel: string
}

/** Largest number of networks created ahead. More would only occupy addresses: creating networks is faster than users' requests. */
const MOST_AHEAD = 8
/** Largest kept log: a larger one would not be copied before the end of a session counts as late. */
const MOST_LOG_MIB = 256

/**
 * @param environment BERTH_DATA (required), BERTH_MANAGER_URL, BERTH_JOIN, BERTH_AGENT_REPLACE, DOCKER_HOST, BERTH_AGENT_NAME, BERTH_AGENT_NETWORK_RANGE,
 *   BERTH_AGENT_NETWORK_DENY, BERTH_AGENT_NETWORKS_AHEAD, BERTH_AGENT_PROXY_PORT, BERTH_AGENT_CLUSTER_ADDRESS, BERTH_GPU_SHARED, BERTH_GPU_GUARD, BERTH_HEALTH_COMMAND, BERTH_HEALTH_INTERVAL_S, BERTH_HEALTH_TIMEOUT_S, BERTH_GPU_PROBE_IMAGE, BERTH_SIMULATED_GPUS, BERTH_TOOLBOX_IMAGE, BERTH_TOOLBOX_ARCHIVE, BERTH_AGENT_EMULATED, BERTH_AGENT_LOG_MIB, BERTH_AGENT_SCRATCH,
 *   BERTH_AGENT_SCRATCH_FLOOR_MIB, BERTH_AGENT_HOME_LIMIT_MIB, BERTH_AGENT_HOME_FILES,
 *   BERTH_AGENT_SCRATCH_RETENTION_S, BERTH_AGENT_CLAIM, BERTH_AGENT_UPDATES, BERTH_AGENT_LEAVE, INVOCATION_ID, BERTH_STORAGE, BERTH_DIRECT_KEY, BERTH_LOG; described in agent/README.md
 * @throws `config_invalid`
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const read = (name: string) => {
    const text = environment[name]?.trim()
    return text === '' ? undefined : text
  }
  const data = read('BERTH_DATA')
  if (data === undefined || !isAbsolute(data)) throw invalid('BERTH_DATA must be an absolute path.')
  const directory = resolve(join(data, 'agent'))
  const scratch = absolute('BERTH_AGENT_SCRATCH', read('BERTH_AGENT_SCRATCH'))
  const join_ = read('BERTH_JOIN')
  const networkRange = cidr('BERTH_AGENT_NETWORK_RANGE', read('BERTH_AGENT_NETWORK_RANGE') ?? '10.213.0.0/16')
  if (networkRange.bits > SESSION_BITS) throw invalid(`BERTH_AGENT_NETWORK_RANGE must be /${SESSION_BITS} or larger.`)
  const name = read('BERTH_AGENT_NAME') ?? hostname()
  if (name.length > 128) throw invalid('BERTH_AGENT_NAME must have at most 128 characters.')
  return {
    directory,
    scratchDirectory: scratch ?? join(directory, 'scratch'),
    managerUrl: read('BERTH_MANAGER_URL'),
    invitation: join_ === undefined ? undefined : parseJoinString(join_),
    replace: read('BERTH_AGENT_REPLACE') === '1',
    dockerHost: read('DOCKER_HOST'),
    name,
    networkRange,
    clusterAddress: hostAddress('BERTH_AGENT_CLUSTER_ADDRESS', read('BERTH_AGENT_CLUSTER_ADDRESS')),
    networkDeny: (read('BERTH_AGENT_NETWORK_DENY') ?? '')
      .split(',')
      .filter(text => text.trim() !== '')
      .map(text => cidr('BERTH_AGENT_NETWORK_DENY', text.trim())),
    networksAhead: Math.min(
      MOST_AHEAD,
      amount('BERTH_AGENT_NETWORKS_AHEAD', read('BERTH_AGENT_NETWORKS_AHEAD') ?? '2'),
    ),
    proxyPort: port('BERTH_AGENT_PROXY_PORT', read('BERTH_AGENT_PROXY_PORT') ?? '8489'),
    sharedGpus: gpuNames(read('BERTH_GPU_SHARED') ?? ''),
    gpuGuard: guardMode(read('BERTH_GPU_GUARD') ?? 'end'),
    health: healthCommand(read),
    gpuProbeImage: read('BERTH_GPU_PROBE_IMAGE') ?? 'berth/python:3.13',
    simulatedGpus: read('BERTH_SIMULATED_GPUS'),
    toolboxImage: read('BERTH_TOOLBOX_IMAGE') ?? 'berth/toolbox:latest',
    toolboxArchive: absolute('BERTH_TOOLBOX_ARCHIVE', read('BERTH_TOOLBOX_ARCHIVE')),
    emulated: architectures(read('BERTH_AGENT_EMULATED') ?? ''),
    claimVolume: volumeName('BERTH_AGENT_CLAIM', read('BERTH_AGENT_CLAIM') ?? 'berth-agent'),
    leave: leaving(read('BERTH_AGENT_LEAVE')),
    // @see https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#%24INVOCATION_ID
    isService: read('INVOCATION_ID') !== undefined,
    updates: onOrOff('BERTH_AGENT_UPDATES', read('BERTH_AGENT_UPDATES') ?? 'on'),
    freeSpaceFloorBytes:
      amount('BERTH_AGENT_SCRATCH_FLOOR_MIB', read('BERTH_AGENT_SCRATCH_FLOOR_MIB') ?? '1024') * 2 ** 20,
    scratchRetentionMs:
      amount('BERTH_AGENT_SCRATCH_RETENTION_S', read('BERTH_AGENT_SCRATCH_RETENTION_S') ?? '86400') * 1000,
    logMib: Math.min(MOST_LOG_MIB, amount('BERTH_AGENT_LOG_MIB', read('BERTH_AGENT_LOG_MIB') ?? '16')),
    homeLimits: {
      bytes: limit('BERTH_AGENT_HOME_LIMIT_MIB', read('BERTH_AGENT_HOME_LIMIT_MIB'), 2 ** 20),
      inodes: limit('BERTH_AGENT_HOME_FILES', read('BERTH_AGENT_HOME_FILES'), 1),
    },
    storage: storagePaths(read('BERTH_STORAGE')) ?? [{ name: null, path: join(data, 'storage') }],
    directKey: read('BERTH_DIRECT_KEY'),
    logLevel: read('BERTH_LOG') ?? 'info',
  }
}

function absolute(name: string, path: string | undefined): string | undefined {
  if (path !== undefined && !isAbsolute(path)) throw invalid(`${name} must be an absolute path.`)
  return path
}

/** Docker takes no other names of volumes; with a slash in it, the address of a request would be another one. */
function volumeName(name: string, text: string): string {
  if (/^[a-zA-Z0-9][\w.-]{1,127}$/.test(text)) return text
  throw invalid(`${name} is "${text}"; the value must be a name of a volume, such as berth-agent.`)
}

function storagePaths(text: string | undefined): StoragePath[] | undefined {
  if (text === undefined) return undefined
  const paths = StoragePaths.safeParse(text)
  if (paths.success) return Array.from(paths.data, ([name, path]) => ({ name, path }))
  throw invalid(`BERTH_STORAGE is "${text}"; it must look like local=/srv/berth,archive=/mnt/archive.`)
}

function cidr(name: string, text: string): Cidr {
  const parsed = parseCidr(text)
  if (!parsed) throw invalid(`${name} is "${text}"; the value must look like 10.213.0.0/16.`)
  return parsed
}

function port(name: string, text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (number >= 1024 && number <= 65_535) return number
  throw invalid(`${name} is "${text}"; the value must be a port from 1024 to 65535.`)
}

function hostAddress(name: string, text: string | undefined): string | undefined {
  if (text === undefined || (isIPv4(text) && isHostAddress(text))) return text
  throw invalid(`${name} is "${text}"; the value must be an IPv4 address of this host, such as 192.168.7.2.`)
}

function gpuNames(text: string): Set<string> {
  const names = text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  const wrong = names.find(name => name !== 'all' && !/^(GPU|AMD)-[\w.:-]{1,64}$/.test(name))
  if (wrong !== undefined) {
    throw invalid(
      `BERTH_GPU_SHARED is "${wrong}"; the value must be "all" or UUIDs of GPUs, as \`berth admin agent device ls\` and \`nvidia-smi -L\` list them.`,
    )
  }
  return new Set(names)
}

function guardMode(text: string): GpuGuardMode {
  const mode = GPU_GUARD_MODES.find(one => one === text)
  if (mode === undefined) throw invalid(`BERTH_GPU_GUARD is "${text}"; the value must be end, warn or off.`)
  return mode
}

const HealthWords = z
  .array(TextUpTo(4_096).regex(/^[^\0]*$/))
  .min(1)
  .max(64)

function healthCommand(read: (name: string) => string | undefined): HealthCommand | undefined {
  const text = read('BERTH_HEALTH_COMMAND')
  if (text === undefined) return undefined
  const words = HealthWords.safeParse(parseJson(text))
  const [program = ''] = words.data ?? []
  if (!words.success || !isAbsolute(program)) {
    throw invalid(
      'BERTH_HEALTH_COMMAND must be a list of words that begins with an absolute path: ["/usr/local/bin/host-ok"].',
    )
  }
  const seconds = (name: string, usual: string, [least, most]: readonly [number, number]) => {
    const figure = amount(name, read(name) ?? usual)
    if (figure < least || figure > most) throw invalid(`${name} must be ${least} to ${most} seconds.`)
    return figure * 1000
  }
  return {
    words: words.data,
    intervalMs: seconds('BERTH_HEALTH_INTERVAL_S', '300', [15, 86_400]),
    timeoutMs: seconds('BERTH_HEALTH_TIMEOUT_S', '10', [1, 60]),
  }
}

function leaving(text: string | undefined): Config['leave'] {
  if (text === undefined || text === 'engine' || text === 'images') return text
  throw invalid(`BERTH_AGENT_LEAVE is "${text}"; the value must be engine or images.`)
}

function onOrOff(name: string, text: string): boolean {
  if (text !== 'on' && text !== 'off') throw invalid(`${name} is "${text}"; the value must be on or off.`)
  return text === 'on'
}

function architectures(text: string): string[] {
  const names = text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  const wrong = names.length > 10 ? text : names.find(name => !/^[a-z0-9]{1,32}$/.test(name))
  if (wrong !== undefined) {
    throw invalid(`BERTH_AGENT_EMULATED is "${wrong}"; the value must be architectures of images, such as arm64.`)
  }
  return names
}

function amount(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalid(`${name} is "${text}"; the value must be a whole number.`)
  return Number(text)
}

/** An empty value and 0 both mean no limit. */
function limit(name: string, text: string | undefined, unit: number): number | undefined {
  const figure = amount(name, text ?? '0')
  return figure === 0 ? undefined : figure * unit
}

function invalid(why: string): AppError {
  return new AppError('config_invalid', { why })
}
