import { z } from 'zod'
import {
  CleanLine,
  CleanLines,
  DateTime,
  Device,
  DeviceFigures,
  KernelId,
  MOST_FOLDERS,
  PROGRAM_KINDS,
  PullProgress,
  SessionId,
  SessionStats,
  TextUpTo,
  Token,
} from '#manager/contract'
import {
  Amounts,
  Attempt,
  Bytes,
  CEILINGS,
  ContainerId,
  ExitCode,
  ImageName,
  Ipv4,
  LONGEST_NAME,
  Milliseconds,
} from './fields.ts'
import { recordOf } from './to-first-fault.ts'
import { KernelApp } from './kernel-app.ts'
import { KernelFolder } from './kernel-folder.ts'

/** Messages that the agent sends without a request: its full state, and notices of changes before the next report. */

/** An image on the engine, with what its labels say. */
export const AgentImage = z.object({
  references: z.array(ImageName).max(1_000),
  /** Image id, sha256:… */
  id: Token(128),
  sizeBytes: Bytes,
  title: CleanLine(200),
  description: CleanLines(2_000),
  minimum: Amounts,
  shmemBytes: z.int().min(0).max(CEILINGS.mem),
  apps: z.array(KernelApp).max(100),
  labelled: z.boolean(),
  /** Paths outside of the home that the image declares as volumes: files there are lost at the end of the session. */
  volumes: z.array(CleanLine(512)).max(100).optional(),
  /** Processor architecture in the words of Go, such as `amd64`; left out where it is unknown, and by older agents. */
  architecture: Token(32).optional(),
  /** Name of the user whose session the image was made from. */
  madeBy: CleanLine(200).optional(),
  /** `repository@sha256:…` of the manifests that it was pulled or pushed as; none for an image built here. */
  repoDigests: z.array(ImageName).max(1_000).optional(),
})
export type AgentImage = z.infer<typeof AgentImage>

/** Cause for which an agent ended a session by itself: a reason code, and a sentence for the owner of the session. */
export const StoppedFor = z.object({
  code: z.enum(['disk_limit', 'gpu_limit', 'host_limit']),
  message: TextUpTo(400).regex(/^[\x20-\x7e]*$/),
  /** Key and values of the message for translations; left out by older agents. */
  cause: Token(64).optional(),
  values: recordOf(Token(64), z.union([z.number(), CleanLine()])).optional(),
})
export type StoppedFor = z.infer<typeof StoppedFor>

/** Warning of an agent to the owner of a session, which runs on. */
export const KernelWarning = StoppedFor.extend({ code: z.enum(['gpu_failed', 'gpu_warned']) })
export type KernelWarning = z.infer<typeof KernelWarning>

/** `starting`: being created; `running`; `exited`: the container exists but has ended; `gone`: the container does not exist. */
export const KernelState = z.discriminatedUnion('state', [
  z.object({
    state: z.literal('starting'),
    phase: z.enum(['preparing', 'pulling']),
    /** Number of starts ahead of this one in the agent's queue. Left out once this start has begun, and by older agents. */
    ahead: z.int().min(0).optional(),
  }),
  z.object({ state: z.literal('running'), containerId: ContainerId, startedAt: DateTime() }),
  z.object({
    state: z.literal('exited'),
    containerId: ContainerId,
    exitCode: ExitCode,
    oomKilled: z.boolean(),
    /** The engine (or the machine) restarted, and the container ended with it. */
    engineRestarted: z.boolean(),
    stopped: StoppedFor.optional(),
  }),
  z.object({ state: z.literal('gone') }),
])
export type KernelState = z.infer<typeof KernelState>

const Values = recordOf(Token(64), z.union([z.number(), CleanLine()]))

/** Keys and values of a text beside it, for translations; left out by older agents. */
const ReportedKeys = z.object({
  cause: Token(64).optional(),
  values: Values.optional(),
  more: z
    .array(z.object({ cause: Token(64), values: Values.optional() }))
    .max(10)
    .optional(),
})

/** Folders that were added to a running container. */
export const KernelMounts = z.object({
  /** Why folders can be neither added nor removed now; null if they can. */
  closed: CleanLine().nullable(),
  closedBy: ReportedKeys.optional(),
  folders: z.array(KernelFolder).max(MOST_FOLDERS),
})
export type KernelMounts = z.infer<typeof KernelMounts>

/** A signed container as found on the engine; `label` is a KernelLabel. */
export const KernelReport = z.object({
  kernelId: KernelId,
  sessionId: SessionId,
  attempt: Attempt,
  state: KernelState,
  label: z.unknown(),
  /** Left out while the kernel does not run, and by older agents. */
  mounts: KernelMounts.optional(),
})
export type KernelReport = z.infer<typeof KernelReport>

const ReportedDevice = Device.extend({
  uuid: Token(128),
  model: CleanLine(200),
  memBytes: Bytes,
  isolationReason: CleanLine().nullable(),
  isolationReasonBy: ReportedKeys.optional(),
  problem: CleanLine().nullable(),
  problemBy: ReportedKeys.optional(),
  warning: CleanLine().nullable().optional(),
  warningBy: ReportedKeys.optional(),
})

/** The program of an agent. */
export const AgentProgram = z.object({
  kind: z.enum(PROGRAM_KINDS),
  /** Digest of all its files, hexadecimal; null unless the line installed it. */
  digest: Token(64).nullable(),
  /** Whether the host lets its manager replace the program. */
  updates: z.boolean(),
  /** Whether people are connected to sessions through the agent, or run commands in them: a restart would cut them off. */
  busy: z.boolean(),
  /** The last update that failed, by the id of the request. */
  failed: z.object({ id: z.uuid(), why: CleanLine() }).optional(),
})
export type AgentProgram = z.infer<typeof AgentProgram>

/** Devices of one host. */
export const MOST_DEVICES = CEILINGS['cuda.device']

/** Full state of an agent; sent after welcome, whenever it changes, and with every heartbeat (`images` only when changed). */
export const Report = z.object({
  type: z.literal('report'),
  sequence: z.int(),
  version: CleanLine(64),
  engine: z.object({
    version: CleanLine(64),
    reachable: z.boolean(),
    /** Architectures of images that the agent runs; empty or left out if unknown, and by older agents. */
    architectures: z.array(Token(32)).max(20).optional(),
  }),
  /** CPU and memory in base units, with the reserve of the host already subtracted; devices are counted by the manager. */
  capacity: Amounts,
  /** Devices in the modes that the manager last set; a device without a set mode has the mode of the agent's configuration. */
  devices: z.array(ReportedDevice).max(MOST_DEVICES),
  deviceFigures: z.array(DeviceFigures).optional(),
  images: z.array(AgentImage).optional(),
  kernels: z.array(KernelReport),
  network: z.object({
    isolation: z.enum(['full', 'partial']),
    reason: CleanLine().nullable(),
    reasonBy: ReportedKeys.optional(),
    /** Reason why no session can have a network on this agent now; left out by older agents. */
    problem: CleanLine().nullable().optional(),
    problemBy: ReportedKeys.optional(),
    /**
     * Address of the host in the private network that carries sessions over several hosts. Only while the agent can set up such a network
     * and keeps everybody else out of it; left out by older agents.
     */
    clusterAddress: Ipv4().optional(),
    /** Reason why an address that the administrator named is not used; left out if there is none, and by older agents. */
    clusterProblem: CleanLine().optional(),
    clusterProblemBy: ReportedKeys.optional(),
    /** Whether the agent keeps sessions from the network, or within an allow list, when that is requested; left out by older agents. */
    restricts: z.boolean().optional(),
  }),
  /** Fault of the host, other than of networks, because of which no session can start there now. Left out by older agents. */
  host: z.object({ problem: CleanLine().nullable(), problemBy: ReportedKeys.optional() }).optional(),
  /** Storages that are mounted on this agent: the UUID in each marker. Left out by older agents. */
  storage: z.array(z.uuid()).max(100).optional(),
  /** Names of storages that its settings expect and that are not mounted. Left out by older agents. */
  storageAway: z.array(CleanLine(64)).max(100).optional(),
  /** Left out by older agents. */
  program: AgentProgram.optional(),
  /** Milliseconds since the epoch on the agent; the manager reports skew, and uses its own clock for records. */
  clockMs: Milliseconds,
})
export type Report = z.infer<typeof Report>

/** Notice that one kernel changed: the facts of the next report, sent without waiting for it. `ageMs`: time since the change. */
export const KernelChanged = z.object({
  type: z.literal('kernel_changed'),
  kernel: KernelReport,
  ageMs: Milliseconds,
  /** True if the system has killed a program in the kernel because its memory was used up. Left out otherwise, and by older agents. */
  memoryKill: z.boolean().optional(),
  /** Left out without one, and by older agents. */
  warning: KernelWarning.optional(),
})
const isSane = (figures: object) =>
  Object.values(figures).every(value => typeof value !== 'number' || (value >= 0 && value <= 2 ** 63))

/** Stats with plausible figures, which can be added up. Figures of a host whose clock or counter is wrong are refused. */
const SaneStats = SessionStats.refine(
  ({ gpus, ...stats }) => [stats, ...gpus, ...gpus.map(gpu => gpu.device ?? {})].every(isSane),
  'figures must not be negative, nor larger than any counter',
)
const SaneProgress = PullProgress.refine(
  ({ layersDone, layersTotal, bytesDone, bytesTotal, layers }) =>
    layers.length <= 1_000 && [layersDone, layersTotal, bytesDone, bytesTotal].every(value => value >= 0),
  'progress must not be negative',
)
export const PullChanged = z.object({ type: z.literal('pull'), kernelId: KernelId, progress: SaneProgress })
/** Progress of the pull_image with this id. */
export const ImagePull = z.object({
  type: z.literal('image_pull'),
  pullId: TextUpTo(LONGEST_NAME),
  progress: SaneProgress,
})
/** Text that the engine has said of the build_image with this id. */
export const BuildLog = z.object({
  type: z.literal('build_log'),
  buildId: TextUpTo(LONGEST_NAME),
  text: CleanLines(16_384),
})
export const StatsBatch = z.object({
  type: z.literal('stats'),
  kernels: z.array(z.object({ kernelId: KernelId, stats: SaneStats })),
})
