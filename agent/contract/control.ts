import { z } from 'zod'
import {
  AgentId,
  App,
  AppProtocol,
  CleanLine,
  CleanLines,
  Device,
  DeviceFigures,
  InjectedHeader,
  KernelId,
  ManagerId,
  PullProgress,
  SessionId,
  SessionStats,
  SettableMode,
  type SlotName,
  Token,
  UserId,
} from '#manager/contract'
import { ManagerProof, Managers } from './managers.ts'

/**
 * The control connection: `GET /agent/v1/control` upgraded to a WebSocket (subprotocol CONTROL_PROTOCOL), one JSON message
 * per text frame. The agent dials. Handshake, then requests with replies from the manager, and notices from the agent.
 *
 *     agent   → a nonce, in a header of the upgrade request
 *     manager → challenge, with its signature over the nonce: nothing of value goes to a stranger who took the port
 *     agent   → join (first time, with a one-time token and its public key) or prove (signature over the challenge)
 *     manager → welcome, or refused and close
 *     agent   → report (full state), then again with every heartbeat
 */
export const CONTROL_PROTOCOL = 'berth.control.v1'
export const CONTROL_PATH = '/agent/v1/control'
export const HEARTBEAT_MS = 3_000
/** An agent that sends no heartbeat for this long counts as lost. */
export const AGENT_LOST_MS = 10_000

export const Challenge = z.object({
  type: z.literal('challenge'),
  nonce: z.string(),
  /** Id of the control plane: the same for all managers on one database. */
  managerId: ManagerId,
  /** Id of the manager process; an agent has one connection to each process. */
  processId: z.string().optional(),
  /** Left out if the agent sent no nonce. */
  proof: ManagerProof.optional(),
})
export const Join = z.object({
  type: z.literal('join'),
  token: z.string(),
  agentId: AgentId,
  name: CleanLine(128),
  /** Ed25519, SPKI, base64. */
  publicKey: z.string(),
  signature: z.string(),
  instance: z.string().max(64).optional(),
})
export const Prove = z.object({
  type: z.literal('prove'),
  agentId: AgentId,
  signature: z.string(),
  /** Random id of the agent process: tells a reconnection from a second process that runs with a copy of the same key. */
  instance: z.string().max(64).optional(),
})
export const Welcome = z.object({
  type: z.literal('welcome'),
  managerId: ManagerId,
  /** Number of data sockets that the agent keeps parked. */
  parkedSockets: z.int(),
  /** Credential of the data sockets of this control connection, base64url; sent as `authorization: Bearer`. */
  dataToken: z.string(),
  /**
   * Ids of the containers that the manager knows to belong to the agent that this one replaces. Left out if it replaces none.
   * The key that signed the labels of these containers is lost with the data of the replaced agent.
   */
  containers: z.array(z.string()).optional(),
})
export const Refused = z.object({ type: z.literal('refused'), code: z.string(), message: z.string() })

/** Payload that the agent signs, UTF-8. Domain-separated, so that the signature is good for nothing else. */
export function controlSignaturePayload(nonce: string, managerId: string, agentId: string): string {
  return `berth.control.v1\n${nonce}\n${managerId}\n${agentId}`
}

/**
 * An app as the agent runs it. `command` may hold `{port}` and `{secret}`; it is empty if the agent need not start the app,
 * because the container opens the port by itself.
 */
export const KernelApp = z.object({
  name: App.shape.name,
  title: CleanLine(200),
  protocol: AppProtocol,
  path: z.string().startsWith('/').max(1_000).default('/'),
  port: z.int().min(1).max(65_535),
  command: z.array(z.string()),
  environ: z.record(z.string(), z.string()).default({}),
  /** Form in which the app takes its secret, which the proxy adds to requests; `none`: the app has no secret. */
  secret: z.enum(['jupyter', 'none']).default('none'),
})
export type KernelApp = z.infer<typeof KernelApp>

/**
 * Upper limits of what a host can have: a larger amount is a mistake or a lie. Sums over thousands of agents stay exact.
 * In base units: a million cores, 64 TiB, a thousand GPUs.
 */
const CEILINGS = { cpu: 1e9, mem: 2 ** 46, 'cuda.device': 1_000, 'cuda.shares': 100_000 } as const satisfies Record<
  SlotName,
  number
>
const amountUpTo = (most: number) => z.int().min(0).max(most).optional()

/** Amounts by slot, in base units. Slots that this version does not know are left out. */
export const Amounts = z
  .object({
    cpu: amountUpTo(CEILINGS.cpu),
    mem: amountUpTo(CEILINGS.mem),
    'cuda.device': amountUpTo(CEILINGS['cuda.device']),
    'cuda.shares': amountUpTo(CEILINGS['cuda.shares']),
  })
  .transform((amounts): Record<string, number> =>
    Object.fromEntries(
      Object.entries(amounts).flatMap(([slot, amount]) => (amount === undefined ? [] : [[slot, amount]])),
    ),
  )
const Bytes = z
  .number()
  .min(0)
  .max(2 ** 53)
const Milliseconds = z.number().min(0).max(253_402_300_799_999)
const ExitCode = z
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1)
const Attempt = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)
const ImageName = Token(512)
const ContainerId = Token(128)

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
  /** `repository@sha256:…` of the manifests that it was pulled or pushed as; none for an image built here. */
  repoDigests: z.array(ImageName).max(1_000).optional(),
})
export type AgentImage = z.infer<typeof AgentImage>

/** Cause for which an agent ended a session by itself: a reason code, and a sentence for the owner of the session. */
export const StoppedFor = z.object({
  code: z.enum(['disk_limit', 'host_limit']),
  message: z
    .string()
    .max(400)
    .regex(/^[\x20-\x7e]*$/),
})
export type StoppedFor = z.infer<typeof StoppedFor>

/** `starting`: being created; `running`; `exited`: container is there but ended; `gone`: container is not there. */
export const KernelState = z.discriminatedUnion('state', [
  z.object({
    state: z.literal('starting'),
    phase: z.enum(['preparing', 'pulling']),
    /** Number of starts that come first in the agent's queue. Left out once this start has begun, and by older agents. */
    ahead: z.int().min(0).optional(),
  }),
  z.object({ state: z.literal('running'), containerId: ContainerId, startedAt: z.iso.datetime() }),
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

/** A signed container as found on the engine; `label` is a KernelLabel. */
export const KernelReport = z.object({
  kernelId: KernelId,
  sessionId: SessionId,
  attempt: Attempt,
  state: KernelState,
  label: z.unknown(),
})
export type KernelReport = z.infer<typeof KernelReport>

const ReportedDevice = Device.extend({
  uuid: Token(128),
  model: CleanLine(200),
  memBytes: Bytes,
  isolationReason: CleanLine().nullable(),
  problem: CleanLine().nullable(),
})

/** Full state of an agent; sent after welcome, whenever it changes, and with every heartbeat (`images` only when changed). */
export const Report = z.object({
  type: z.literal('report'),
  sequence: z.int(),
  version: CleanLine(64),
  engine: z.object({ version: CleanLine(64), reachable: z.boolean() }),
  /** CPU and memory in base units, with the reserve of the host already subtracted; devices are counted by the manager. */
  capacity: Amounts,
  /** Devices in the modes that the manager set last; a device whose mode nobody has set is in the mode of the agent's configuration. */
  devices: z.array(ReportedDevice).max(CEILINGS['cuda.device']),
  deviceFigures: z.array(DeviceFigures).optional(),
  images: z.array(AgentImage).optional(),
  kernels: z.array(KernelReport),
  network: z.object({
    isolation: z.enum(['full', 'partial']),
    reason: CleanLine().nullable(),
    /** Reason why no session can have a network on this agent now; left out by older agents. */
    problem: CleanLine().nullable().optional(),
  }),
  /** Milliseconds since the epoch on the agent; the manager reports skew, and uses its own clock for records. */
  clockMs: Milliseconds,
})
export type Report = z.infer<typeof Report>

/** Notice that one kernel changed: the facts of the next report, sent without waiting for it. `ageMs`: time since the change. */
export const KernelChanged = z.object({
  type: z.literal('kernel_changed'),
  kernel: KernelReport,
  ageMs: Milliseconds,
})
/** Stats with plausible figures, which can be added up. Figures of a host whose clock or counter is wrong are refused. */
const SaneStats = SessionStats.refine(
  stats => Object.values(stats).every(value => typeof value !== 'number' || (value >= 0 && value <= 2 ** 63)),
  'figures must not be negative, nor larger than any counter',
)
const SaneProgress = PullProgress.refine(
  ({ layersDone, layersTotal, bytesDone, bytesTotal, layers }) =>
    layers.length <= 1_000 && [layersDone, layersTotal, bytesDone, bytesTotal].every(value => value >= 0),
  'progress must not be negative',
)
export const PullChanged = z.object({ type: z.literal('pull'), kernelId: KernelId, progress: SaneProgress })
/** Progress of the pull_image with this id. */
export const ImagePull = z.object({ type: z.literal('image_pull'), pullId: z.string(), progress: SaneProgress })
export const StatsBatch = z.object({
  type: z.literal('stats'),
  kernels: z.array(z.object({ kernelId: KernelId, stats: SaneStats })),
})

/**
 * A kernel to create: the facts of its session and the user's request. It does not contain the commands of apps. The
 * manager knows those only from agents that describe their images, and one agent must not decide what runs on another:
 * each agent takes the commands from its own copy of the image.
 */
export const KernelSpec = z.object({
  kernelId: KernelId,
  sessionId: SessionId,
  sessionName: z.string(),
  role: z.string(),
  /** Number of kernels of the session, all on this agent and on one network; left out for a single kernel. */
  clusterSize: z.int().min(1).optional(),
  attempt: z.int(),
  owner: z.object({ id: UserId, email: z.string() }),
  resourceGroup: z.string(),
  /** `manifestDigest` (sha256:…): digest that the registry had under the reference when the session was made, if it is known. */
  image: z.object({ reference: z.string(), digest: z.string(), manifestDigest: z.string().optional() }),
  /** Base units. */
  slots: z.record(z.string(), z.int()),
  shmemBytes: z.int(),
  devices: z.array(z.object({ uuid: z.string(), slot: z.string(), amount: z.int() })),
  environ: z.record(z.string(), z.string()),
  startupCommand: z.string().nullable(),
  /**
   * An interactive session goes on when the start-up command has ended; a batch session ends with it. Left out (older
   * managers): the session ends with the command.
   */
  kind: z.enum(['interactive', 'batch']).optional(),
  /** More public keys that may log in by SSH, `ssh-ed25519 AAAA… comment`. */
  authorizedKeys: z.array(z.string()),
  /** An ended kernel of this agent whose home the new one continues with; fails with `files_gone` if the home was not kept. */
  filesOf: KernelId.optional(),
  /** Time at which the session was requested, by the database's clock: its container cannot be older. */
  requestedAt: z.iso.datetime().optional(),
  /** The manager's MAC of the facts above, to be kept in the container's label. Left out by older managers. */
  managerSignature: z.string().max(128).optional(),
})
export type KernelSpec = z.infer<typeof KernelSpec>

/**
 * Credentials for a pull from a registry. They are sent with the one request that needs them and stay in the memory of that
 * request: agents neither keep nor log them.
 */
export const RegistryAuth = z.object({
  /** Address of the registry as Docker knows it: `cr.example.org:5000`, or `https://index.docker.io/v1/`. */
  serverAddress: z.string(),
  username: z.string(),
  password: z.string(),
})
export type RegistryAuth = z.infer<typeof RegistryAuth>

/** An image on the engine that no container uses. */
export const UnusedImage = z.object({
  id: z.string(),
  references: z.array(z.string()),
  repoDigests: z.array(z.string()),
  sizeBytes: z.number(),
  /** Bytes of layers that no other image has. */
  uniqueBytes: z.number(),
  /** True if the image has labels of Berth or Backend.AI. */
  labelled: z.boolean(),
})
export type UnusedImage = z.infer<typeof UnusedImage>

/** SSH material made by the agent together with the kernel. */
export const KernelSsh = z.object({
  user: z.string(),
  hostKey: z.string(),
  privateKey: z.string(),
  publicKey: z.string(),
})
export type KernelSsh = z.infer<typeof KernelSsh>

/**
 * Requests of the manager. Idempotent by (kernelId, attempt): a repeated create_kernel of the same attempt answers with
 * the state of the first. `startWithinMs` counts on the agent's monotonic clock from receipt: an agent that cannot
 * confirm in time removes the container itself and answers `kernel_create_failed`. A container is removed too if no report
 * of it has arrived at a manager by then. While a start waits for its turn on the agent (`ahead`), each report that a
 * manager took up gives the start at least `prepareWithinMs` from the time at which that report was sent.
 */
export const REQUESTS = {
  create_kernel: {
    input: z.object({
      spec: KernelSpec,
      startWithinMs: z.int(),
      prepareWithinMs: z.int().optional(),
      registryAuth: RegistryAuth.optional(),
    }),
    reply: z.object({ containerId: ContainerId, startedAt: z.iso.datetime(), ssh: KernelSsh }),
  },
  /**
   * Stops and removes container, network and (after a while) scratch. An unknown kernel is no error: the reply has no exit code
   * and an empty log. With `attempt`, a newer attempt is left alone, and the reply is the same.
   */
  destroy_kernel: {
    input: z.object({ kernelId: KernelId, attempt: z.int().optional(), graceMs: z.int() }),
    reply: z.object({ exitCode: ExitCode.nullable(), logTail: z.string() }),
  },
  get_ssh: { input: z.object({ kernelId: KernelId }), reply: KernelSsh },
  /** Starts the app unless it runs, and waits until its port accepts. */
  start_app: {
    input: z.object({ kernelId: KernelId, app: z.string(), timeoutMs: z.int() }),
    reply: z.object({ inject: InjectedHeader.nullable() }),
  },
  /** Asks the engine now, so that the reply is complete. Fails with `engine_unreachable` if the engine's state is not known. */
  list_kernels: {
    input: z.object({}),
    reply: z.object({ kernels: z.array(KernelReport).max(10_000) }),
  },
  /**
   * Replaces the set modes: a named device gets the given mode, any other device that of the agent's configuration. The manager
   * repeats the request until a report shows the modes.
   */
  set_device_modes: {
    input: z.object({ modes: z.record(z.string(), SettableMode) }),
    reply: z.object({}),
  },
  get_logs: {
    input: z.object({ kernelId: KernelId, tail: z.int() }),
    reply: z.object({ text: z.string(), truncated: z.boolean() }),
  },
  /** Pulls an image. With `pullId`, notices report the progress. */
  pull_image: {
    input: z.object({ reference: z.string(), pullId: z.string().optional(), auth: RegistryAuth.optional() }),
    reply: z.object({ id: z.string() }),
  },
  /** Lists all images that no container uses, except the toolbox. */
  list_unused_images: { input: z.object({}), reply: z.object({ images: z.array(UnusedImage) }) },
  /**
   * Removes names from images, and images that have no name left. With `reference`, removes only that name. An image stays
   * if a container or a starting kernel uses it, and so does the toolbox.
   */
  remove_images: {
    input: z.object({ images: z.array(z.object({ id: z.string(), reference: z.string().optional() })) }),
    reply: z.object({
      removed: z.array(z.object({ id: z.string(), references: z.array(z.string()) })),
      kept: z.array(z.object({ id: z.string(), why: z.string() })),
      freedBytes: z.number(),
    }),
  },
} as const
export type RequestName = keyof typeof REQUESTS
export type RequestInput<N extends RequestName> = z.infer<(typeof REQUESTS)[N]['input']>
export type RequestReply<N extends RequestName> = z.infer<(typeof REQUESTS)[N]['reply']>

export const Request = z.object({ type: z.literal('request'), id: z.int(), name: z.string(), input: z.unknown() })
export const Reply = z.object({
  type: z.literal('reply'),
  id: z.int(),
  value: z.unknown().optional(),
  error: z.object({ code: z.string(), message: z.string(), detail: z.record(z.string(), z.unknown()) }).optional(),
})
/** The manager gives up on a request (caller gone, deadline): the agent stops the work where it can. */
export const Cancel = z.object({ type: z.literal('cancel'), id: z.int() })

/**
 * Acknowledges the reports of this connection up to the one with this number: their content is in the database, except for
 * the kernels in `except`, whose state could not be written.
 */
export const TakenUp = z.object({
  type: z.literal('taken_up'),
  sequence: z.int(),
  except: z.array(KernelId).optional(),
  /**
   * Kernels that the manager knows to run all the same. Set if the agent's engine did not answer, so that the report is not
   * certain about containers.
   */
  started: z.array(KernelId).optional(),
})

export const FromManager = z.discriminatedUnion('type', [
  Challenge,
  Welcome,
  Refused,
  Managers,
  TakenUp,
  Request,
  Cancel,
])
export type FromManager = z.infer<typeof FromManager>
export const FromAgent = z.discriminatedUnion('type', [
  Join,
  Prove,
  Report,
  KernelChanged,
  PullChanged,
  ImagePull,
  StatsBatch,
  Reply,
])
export type FromAgent = z.infer<typeof FromAgent>
