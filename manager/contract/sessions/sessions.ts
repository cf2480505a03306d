import { z } from 'zod'
import { DateTime, TextOf, TextUpTo } from '../plain-text.ts'
import { SessionGpu } from '../agents/agents.ts'
import { AllowedOptions, EnvironmentName, RESERVED_ENVIRONMENT } from '../apps/app-options.ts'
import { CauseFields } from '../causes/fields.ts'
import { GroupRef } from '../identity/domains.ts'
import { FolderMount, FolderMountSpecs } from '../storage/folders.ts'
import { GpuChoice } from '../agents/gpu-choice.ts'
import { AgentId, KernelId, SessionId, UserId } from '../ids.ts'
import { NetworkAccess } from '../apps/network-access.ts'
import { Reason } from './reasons.ts'
import { MOST_AMOUNT, parseAmount, WireSlots } from '../agents/resource-slots.ts'
import { StoredVariables, withCommandLimit, withVariableLimit } from './session-bytes.ts'
import { SessionNote, SessionTags } from './session-labels.ts'
import { SessionPermission } from './session-sharing.ts'
import { SlurmChoice } from '../agents/slurm.ts'
import { sortBy } from '../sort.ts'

export const SESSION_STATUSES = [
  'PENDING',
  'SCHEDULED',
  'PREPARING',
  'PULLING',
  'RUNNING',
  'TERMINATING',
  'TERMINATED',
  'CANCELLED',
  'ERROR',
] as const
export const SessionStatus = z.enum(SESSION_STATUSES)
/** Status of a session, and of each of its kernels. */
export type SessionStatus = z.infer<typeof SessionStatus>

/** The only legal moves. A retry on another agent goes back to PENDING, and so does a session that was interrupted. */
export const TRANSITIONS: Readonly<Record<SessionStatus, readonly SessionStatus[]>> = {
  PENDING: ['SCHEDULED', 'CANCELLED', 'ERROR'],
  SCHEDULED: ['PREPARING', 'PENDING', 'TERMINATING', 'TERMINATED', 'CANCELLED', 'ERROR'],
  PREPARING: ['PULLING', 'RUNNING', 'PENDING', 'TERMINATING', 'TERMINATED', 'ERROR'],
  PULLING: ['PREPARING', 'RUNNING', 'PENDING', 'TERMINATING', 'TERMINATED', 'ERROR'],
  RUNNING: ['TERMINATING', 'TERMINATED', 'ERROR'],
  TERMINATING: ['TERMINATED', 'PENDING', 'ERROR'],
  TERMINATED: [],
  CANCELLED: [],
  ERROR: [],
}

export const LIVE_STATUSES = ['PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING'] as const
export const FINISHED_STATUSES = ['TERMINATED', 'CANCELLED', 'ERROR'] as const
/** Statuses in which a kernel holds its slots and devices on its agent. */
export const OCCUPYING_STATUSES = ['SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING'] as const

export function isFinished(status: SessionStatus): boolean {
  return (FINISHED_STATUSES as readonly SessionStatus[]).includes(status)
}

export const SESSION_NAME = /^(?=.{4,64}$)[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]$/
export const SessionName = TextOf(
  64,
  SESSION_NAME,
  'must be 4 to 64 letters, digits or inner "-", "_", ".", and start and end with a letter or digit',
)

/** A session's subnet has addresses for 13 kernels. */
export const MAX_CLUSTER_SIZE = 13

/** Names of a session's kernels, the main one first. They are also the kernels' host names. */
export function clusterRoles(size: number): string[] {
  return Array.from({ length: size }, (_, index) => (index === 0 ? 'main1' : `sub${index}`))
}

/** Where the kernels of a session may be: on one agent, or on as many as are needed, which then share a network of their own. */
export const ClusterMode = z.enum(['single-host', 'multi-host'])
export type ClusterMode = z.infer<typeof ClusterMode>

/** Priority of a waiting session: larger goes first, 0 is the default. Any user may go below 0, only admins above it. */
export const Priority = z.int().min(-10).max(10)

/** Batch: lives as long as its start-up command, and has a result. Interactive: lives until somebody ends it. */
export const SessionKind = z.enum(['interactive', 'batch'])
export type SessionKind = z.infer<typeof SessionKind>

/** Duration of up to a year. */
const Seconds = z.int().min(1).max(31_536_000)

/** Request for a new session. */
export const SessionSpec = z
  .strictObject({
    name: SessionName.optional().describe('Default: chosen by the manager.'),
    image: TextUpTo(512).min(1).describe('Reference as listed by GET /api/v1/images, e.g. berth/python:3.13'),
    resources: WireSlots.default({}).describe('Raised to the minimum of the image, with a notice.'),
    gpu: GpuChoice.optional().describe('The GPUs on which the session may run, if it asks for any; left out: all.'),
    shmem: TextUpTo(MOST_AMOUNT)
      .refine(text => parseAmount('mem', text) !== undefined, 'must be an amount of memory, such as "256m"')
      .optional()
      .describe('Shared memory (/dev/shm); part of mem, not added to it.'),
    environ: withVariableLimit(
      z
        .record(
          EnvironmentName.refine(name => !RESERVED_ENVIRONMENT.test(name), 'is set by Berth itself'),
          TextUpTo(32_768),
        )
        .default({})
        .refine(environ => Object.keys(environ).length <= 200, 'at most 200 variables'),
    ).describe('Environment variables: at most 200, with at most 64 KiB (UTF-8) of names and values together.'),
    count: z.int().min(1).max(50).default(1).describe('Number of equal sessions; -1, -2, … is added to their names.'),
    resourceGroup: TextUpTo(64).default('default'),
    group: TextUpTo(64)
      .optional()
      .describe('Id or name of the group (project). Default: your only group, or the one named default.'),
    startupCommand: withCommandLimit(TextUpTo(16_384))
      .optional()
      .describe(
        'At most 16 KiB (UTF-8). Command that the shell of the image runs when the session starts. A batch session ends with the command; an interactive one continues.',
      ),
    runImageCommand: z
      .boolean()
      .optional()
      .describe(
        'Run the program of the image (ENTRYPOINT and CMD) when the session starts, in the working directory of the image, as the user of the session. Instead of a startupCommand.',
      ),
    kind: SessionKind.optional().describe(
      'Default: interactive. A batch session needs a command: startupCommand or runImageCommand.',
    ),
    idleTimeoutSeconds: Seconds.optional().describe(
      'Ends the session when it has been idle for this long. A stricter resource policy wins. Not for batch sessions.',
    ),
    maxLifetimeSeconds: Seconds.optional().describe(
      'Ends the session this long after its start, even if it is busy. A stricter resource policy wins.',
    ),
    clusterSize: z
      .int()
      .min(1)
      .max(MAX_CLUSTER_SIZE)
      .optional()
      .describe('Kernels (main1, sub1, …), each with these resources; started all or none.'),
    clusterMode: ClusterMode.optional().describe(
      'Default: single-host, all kernels on one agent. multi-host: on several agents if no single one has room, or each on one of its own where Slurm runs the resource group; they must be in one private network.',
    ),
    network: NetworkAccess.optional().describe(
      'What the session may reach outside itself. Default: as much as your resource policy and domain allow, which is everything unless they name a list.',
    ),
    priority: Priority.optional().describe('Larger goes first. Users may set -10 to 0, admins up to 10.'),
    dependsOn: z
      .array(TextUpTo(64).min(1))
      .max(20)
      .optional()
      .describe('Ids or names of your own sessions that must end with exit code 0 before this one starts.'),
    tags: SessionTags.optional().describe('Words by which the owner finds the session again.'),
    note: SessionNote.optional().describe('Text of the owner about the session.'),
    folders: FolderMountSpecs.optional().describe('Folders that the session mounts.'),
    automount: z
      .boolean()
      .optional()
      .describe(
        'false: without the own folders whose names start with a dot, which are mounted by themselves otherwise.',
      ),
    startsAt: DateTime()
      .optional()
      .describe('Time before which the session does not start, up to a year ahead. It waits until then.'),
    interruptible: z
      .boolean()
      .optional()
      .describe(
        'The session may be stopped for one of higher priority, where its resource group allows that. It gets a warning, keeps its files and its place in the queue, and continues later. It interrupts no other session. Not for sessions over several hosts.',
      ),
    slurm: SlurmChoice.optional().describe(
      'For a resource group that Slurm runs: time limit and place of the job, within what the group offers.',
    ),
    owner: TextUpTo(254)
      .optional()
      .describe(
        'For admins: e-mail address or id of the user to launch for. The session is that of the user, and counts in their limits.',
      ),
  })
  .refine(spec => spec.kind !== 'batch' || spec.runImageCommand || (spec.startupCommand ?? '').trim() !== '', {
    path: ['startupCommand'],
    message: 'a batch session needs a command to run',
  })
  .refine(spec => !spec.runImageCommand || (spec.startupCommand ?? '').trim() === '', {
    path: ['runImageCommand'],
    message: 'runs the program of the image instead of a startupCommand: leave one of them out',
  })
  .refine(spec => !(spec.interruptible && spec.clusterMode === 'multi-host' && (spec.clusterSize ?? 1) > 1), {
    path: ['interruptible'],
    message: 'a session over several hosts cannot be interrupted yet: leave out interruptible or clusterMode',
  })
  .meta({ id: 'SessionSpec' })
export type SessionSpec = z.infer<typeof SessionSpec>

/** Changes for a restart of an ended session; settings that are left out stay as they were. */
export const SessionRestart = z
  .strictObject({
    folders: FolderMountSpecs.optional().describe('The folders to mount, instead of all that the session had.'),
    keepCommand: z
      .boolean()
      .optional()
      .describe(
        'For a session that an admin launched for you: true runs the command that the admin chose again, in the image that the admin chose, with the environment variables that the admin set and the folders where the admin put them, beside your dotfiles and folders. Left out or false: without all of these. The image must then be one that you have launched yourself, and without `folders` only folders of your own and those that you have mounted yourself are there, each at its own name.',
      ),
    keepFiles: z
      .boolean()
      .optional()
      .describe(
        'For a session that an admin launched for you: true continues with the files in its home, among which its command may have left a start-up file that runs beside your dotfiles and folders. Left out or false: begins with an empty home, and the files stay with the old session. A session that you launched always continues with its files.',
      ),
  })
  .meta({ id: 'SessionRestart' })
export type SessionRestart = z.infer<typeof SessionRestart>

/** `https`: a web app that speaks TLS only. Browsers open it as one of `http`; the proxy speaks TLS to it. */
export const AppProtocol = z.enum(['http', 'https', 'tcp'])
/** A named service port of a session, as users see it. Secrets and commands stay in the agent. */
export const App = z
  .object({
    name: TextOf(32, /^[a-z][a-z0-9-]{0,31}$/),
    title: z.string(),
    protocol: AppProtocol,
    /** Path at which the browser starts, e.g. `/lab`. */
    path: TextUpTo(2_000).startsWith('/').default('/'),
    allowedOptions: AllowedOptions.optional().describe(
      'Arguments and variables that the app takes when it is started.',
    ),
  })
  .meta({ id: 'App' })
export type App = z.infer<typeof App>

/** Live figures of a session, sampled once per second on its agent. */
export const SessionStats = z
  .object({
    at: DateTime(),
    /** 1/1000 core in use over the last second. */
    cpuMilli: z.number(),
    cpuSeconds: z.number().optional().describe('CPU time used since the start; missing for agents of an older version'),
    memBytes: z.number(),
    memPeakBytes: z.number(),
    netRxBytes: z.number().describe('since start'),
    netTxBytes: z.number(),
    diskReadBytes: z.number(),
    diskWriteBytes: z.number(),
    scratchBytes: z.number().nullable(),
    gpus: z.array(SessionGpu),
  })
  .meta({ id: 'SessionStats' })
export type SessionStats = z.infer<typeof SessionStats>

/** Progress of an image pull, summed over layers. */
export const PullProgress = z
  .object({
    layersDone: z.int(),
    layersTotal: z.int(),
    bytesDone: z.number(),
    bytesTotal: z.number(),
    bytesPerSecond: z
      .number()
      .optional()
      .describe('Measured rate of an image that comes from another host; left out for pulls from a registry.'),
    layers: z.array(
      z.object({
        id: TextUpTo(1_000),
        status: TextUpTo(1_000),
        bytesDone: z.number(),
        bytesTotal: z.number(),
        /** Progress of unpacking, in the engine's own unit. */
        unpacked: z.number().optional(),
      }),
    ),
  })
  .meta({ id: 'PullProgress' })
export type PullProgress = z.infer<typeof PullProgress>

export const Kernel = z
  .object({
    id: KernelId,
    role: z.string(),
    status: SessionStatus,
    agentId: AgentId.nullable(),
    agentName: z.string().nullable(),
    containerId: z.string().nullable(),
    exitCode: z.int().nullable(),
    devices: z.array(z.object({ uuid: z.string(), slot: z.string(), amount: z.string() })),
  })
  .meta({ id: 'Kernel' })
export type Kernel = z.infer<typeof Kernel>

/** Time at which a session ends automatically unless somebody acts, if known. */
export const SessionEnd = z
  .object({
    at: z.iso.datetime(),
    why: z.enum(['idle_timeout', 'max_lifetime', 'slurm_time_limit']),
    warnedAt: z.iso
      .datetime()
      .nullable()
      .describe('Time of the last warning: warnings come 15, 5 and 1 minutes before the end. Null before the first.'),
  })
  .meta({ id: 'SessionEnd' })
export type SessionEnd = z.infer<typeof SessionEnd>

/** Total use of a session. Accurate to the minute while it runs. */
export const SessionUsage = z
  .object({
    cpuSeconds: z.number().describe('CPU time used.'),
    gpuSeconds: z.number().describe('GPU time held: GPUs and GPU shares, times the running time.'),
    memPeakBytes: z.number(),
  })
  .meta({ id: 'SessionUsage' })
export type SessionUsage = z.infer<typeof SessionUsage>

/** A part of a log. Parts are cut at line ends, except within lines that are longer than a part. */
export const LogPart = z
  .object({
    text: z.string(),
    next: z.number().int().nullable().describe('Number of the next part; null = this is the last one.'),
    truncated: z.boolean().describe('There was more before the first part, which is not kept.'),
  })
  .meta({ id: 'LogPart' })
export type LogPart = z.infer<typeof LogPart>

export const Session = z
  .object({
    id: SessionId,
    name: SessionName,
    status: SessionStatus,
    reason: Reason.describe('Reason for the status; for PENDING, the reason for waiting.'),
    queuePosition: z.int().nullable().describe('1 = next; null if the session is not waiting.'),
    /** False while RUNNING on an agent that is not connected. */
    reachable: z.boolean(),
    ownerId: UserId,
    ownerEmail: z.string(),
    launchedBy: z
      .string()
      .nullable()
      .describe(
        'E-mail address of the admin who launched it for its owner, and chose image, command and variables; `access token` if an access token of the owner did; null: the caller did. It starts without dotfiles, start-up script and dot-folders of the owner.',
      ),
    sharedAs: SessionPermission.nullable().describe(
      'Right of the caller to a session that its owner shared with them; null for the own session, and for admins.',
    ),
    sharedWith: z
      .int()
      .nullable()
      .describe('Number of members who may view or use it; null for callers who came by sharing.'),
    adminsMayRead: z
      .boolean()
      .describe(
        'Whether its owner lets administrators read log and start-up command. An admin who launched it always may.',
      ),
    outputReadable: z
      .boolean()
      .describe(
        'Whether the caller may read log and start-up command: the owner, and members who may view it, always do.',
      ),
    tags: z.array(z.string()),
    note: z.string(),
    domain: z.string().describe('The domain of the owner at launch.'),
    group: GroupRef.nullable().describe('The project in whose limits the session counts; null if not known.'),
    resourceGroup: z.string(),
    image: z.string(),
    imageDigest: z.string().nullable(),
    requested: WireSlots.describe('Per kernel.'),
    gpu: GpuChoice.nullable().describe('The GPUs that were chosen; null: any.'),
    clusterSize: z.int(),
    clusterMode: ClusterMode,
    network: NetworkAccess,
    priority: z.int(),
    dependsOn: z.array(SessionId),
    startsAt: z.iso.datetime().nullable().describe('Time before which it does not start; null = no such time.'),
    interruptible: z
      .boolean()
      .describe('Whether it may be stopped for a session of higher priority, and continue later.'),
    interruptAt: z.iso
      .datetime()
      .nullable()
      .describe('Time at which it is stopped for a session of higher priority; null while that is not announced.'),
    interruptions: z.int().describe('How often it was interrupted.'),
    folders: z.array(FolderMount).describe('Folders that it mounts; without those that were deleted since.'),
    foldersFixed: z
      .object({ message: z.string(), ...CauseFields })
      .nullable()
      .describe(
        'Why folders can be neither added to it nor taken out now; null if they can be, and for sessions that do not run.',
      ),
    shmem: z.string(),
    environNames: z
      .array(z.string())
      .describe('Names of the environment variables. Only `GET /api/v1/sessions/:id` has their values.'),
    startupCommand: z.string().nullable(),
    runImageCommand: z.boolean().describe('Whether the program of the image runs instead of a startup command.'),
    kind: SessionKind,
    result: z
      .enum(['success', 'failure'])
      .nullable()
      .describe('Result of a batch session; null before its end, and for interactive sessions.'),
    idleTimeoutSeconds: z.int().nullable().describe('Effective value; null = never.'),
    maxLifetimeSeconds: z.int().nullable().describe('Effective value; null = unlimited.'),
    expiresAt: z.iso.datetime().nullable().describe('End of the maximum lifetime; known once the session is running.'),
    slurm: SlurmChoice.nullable().describe('Choices for its job in Slurm; null: none, or another engine.'),
    slurmEndsAt: z.iso
      .datetime()
      .nullable()
      .describe('Time at which its job in Slurm reaches the time limit; null: no limit, or it does not run.'),
    ends: SessionEnd.nullable(),
    usage: SessionUsage.nullable().describe('Null before the first figures.'),
    apps: z.array(App),
    kernels: z.array(Kernel),
    stats: SessionStats.nullable(),
    pull: PullProgress.nullable(),
    createdAt: z.iso.datetime(),
    startedAt: z.iso.datetime().nullable(),
    endedAt: z.iso.datetime().nullable(),
    /** Grows with every change; event hints carry it. */
    version: z.int(),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>

/** A session as `GET /api/v1/sessions/:id` shows it. All other answers leave the values of variables out: they may be large, and secret. */
export const SessionDetails = Session.extend({
  environ: StoredVariables.describe(
    'Environment variables with their values; empty for everybody but the owner and members who may use the session.',
  ),
}).meta({ id: 'SessionDetails' })
export type SessionDetails = z.infer<typeof SessionDetails>

/** Orders of a list of sessions; with `-`, descending. */
export const SESSION_ORDERS = ['created', 'name', 'status', 'owner', 'image', 'resourceGroup', 'ended'] as const
export type SessionOrder = (typeof SESSION_ORDERS)[number]
export const SessionSort = sortBy(SESSION_ORDERS)
export type SessionSort = z.infer<typeof SessionSort>

/** Orders of the timeline. */
export const SessionEventSort = sortBy(['at'])
export type SessionEventSort = z.infer<typeof SessionEventSort>

/** A row of the timeline. */
export const SessionEvent = z
  .object({
    id: z.int(),
    at: z.iso.datetime(),
    kernelId: KernelId.nullable(),
    from: SessionStatus.nullable(),
    to: SessionStatus,
    reason: Reason,
    /** Actor: a user's e-mail address, or null for the system. */
    actor: z.string().nullable(),
  })
  .meta({ id: 'SessionEvent' })
export type SessionEvent = z.infer<typeof SessionEvent>

/** A key in one line: key type, base64, and perhaps a comment. */
const SshPublicKey = z
  .string()
  .trim()
  .max(16_384, { abort: true })
  .regex(/^[a-z0-9@.-]+ [A-Za-z0-9+/=]+( [\x20-\x7e]*)?$/)

/**
 * Everything that an SSH client needs besides a port. Clients validate it before use, because it goes into ssh_config and
 * known_hosts: a line break there would be a directive of the manager's choice, and `ProxyCommand` runs programs.
 */
export const SshAccess = z
  .object({
    user: TextOf(32, /^[a-z_][a-z0-9_-]{0,31}$/),
    /** Host key of the session's server, `ssh-ed25519 AAAA…`; the client pins it. */
    hostKey: SshPublicKey,
    /** SHA256:… of the host key, as OpenSSH and PuTTY print it. */
    hostKeyFingerprint: TextOf(100, /^SHA256:[A-Za-z0-9+/]+=*$/),
    /** OpenSSH private key that opens this session only. */
    privateKey: TextUpTo(16_384),
    publicKey: SshPublicKey,
  })
  .meta({ id: 'SshAccess' })
export type SshAccess = z.infer<typeof SshAccess>
