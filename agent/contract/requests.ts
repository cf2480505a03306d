import { z } from 'zod'
import {
  AllowedName,
  AppOptions,
  CleanLine,
  DateTime,
  Diagnosis,
  CommandEnd,
  CommandId,
  CommandStream,
  CommandWords,
  DotfileSpec,
  FolderId,
  InjectedHeader,
  KernelId,
  LogLines,
  MOST_ALLOWED_NAMES,
  MOST_DOTFILES,
  SessionId,
  SettableMode,
  TextUpTo,
  UserId,
} from '#manager/contract'
import { ContainerId, ExitCode, LONGEST_NAME, LONGEST_SAID, LONGEST_VALUE } from './fields.ts'
import { listOf, recordOf } from './to-first-fault.ts'
import { ClusterNetwork } from './cluster-network.ts'
import { ImageOffer } from './image-transfer.ts'
import { KernelFolder } from './kernel-folder.ts'
import { KernelReport } from './reports.ts'

/** First line of the log of an ended session if only its end was kept. */
export const LOG_CUT = '[The log was longer. Only its end is kept, and follows here.]'
/** Size of a part of a kept log before compression. */
export const LOG_PART_BYTES = 2 ** 20

/**
 * A kernel to create: the facts of its session and the user's request. It does not contain the commands of apps. The
 * manager knows those only from agents that describe their images, and one agent must not decide what runs on another:
 * each agent takes the commands from its own copy of the image.
 */
export const KernelSpec = z.object({
  kernelId: KernelId,
  sessionId: SessionId,
  sessionName: TextUpTo(LONGEST_NAME),
  role: TextUpTo(LONGEST_NAME),
  /** Number of kernels of the session, on one network; left out for a single kernel. */
  clusterSize: z.int().min(1).optional(),
  /** The network between the hosts of the session; left out where all its kernels are on this agent. Older agents ignore it. */
  cluster: ClusterNetwork.optional(),
  /**
   * Secret of the session and attempt, from which its kernels derive the SSH keys that they share. Left out for a single kernel, and by
   * older managers; never kept in a label.
   */
  clusterSeed: TextUpTo(128).optional(),
  /**
   * Names that the session may reach by the agent's proxy; empty: nothing outside itself. Left out: like any program of the host. Sent only to
   * agents that report `restricts`.
   */
  allowedNames: z.array(AllowedName).max(MOST_ALLOWED_NAMES).optional(),
  attempt: z.int(),
  owner: z.object({ id: UserId, email: TextUpTo(LONGEST_NAME) }),
  resourceGroup: TextUpTo(LONGEST_NAME),
  /** `manifestDigest` (sha256:…): digest that the registry had under the reference when the session was made, if it is known. */
  image: z.object({
    reference: TextUpTo(LONGEST_NAME),
    digest: TextUpTo(LONGEST_NAME),
    manifestDigest: TextUpTo(LONGEST_NAME).optional(),
  }),
  /** Base units. */
  slots: z.record(TextUpTo(LONGEST_NAME), z.int()),
  shmemBytes: z.int(),
  devices: z.array(z.object({ uuid: TextUpTo(LONGEST_NAME), slot: TextUpTo(LONGEST_NAME), amount: z.int() })),
  environ: z.record(TextUpTo(LONGEST_NAME), TextUpTo(LONGEST_VALUE)),
  startupCommand: TextUpTo(LONGEST_VALUE).nullable(),
  /** Run the image's own ENTRYPOINT and CMD instead of a start-up command; left out for false. */
  runImageCommand: z.literal(true).optional(),
  /** Address of the administrator who launched the session for its owner; left out where the owner did. Kept in the label. */
  launchedBy: TextUpTo(LONGEST_NAME).optional(),
  /** Access token that launched the session; left out for others. Kept in the label. */
  tokenId: z.uuid().optional(),
  /**
   * An interactive session continues when the start-up command has ended; a batch session ends with it. Left out (older
   * managers): the session ends with the command.
   */
  kind: z.enum(['interactive', 'batch']).optional(),
  /** More public keys that may log in by SSH, `ssh-ed25519 AAAA… comment`. */
  authorizedKeys: z.array(TextUpTo(LONGEST_VALUE)),
  /** Left out where there are none. */
  folders: z.array(KernelFolder).optional(),
  /** An ended kernel of this agent whose home the new one continues with; fails with `files_gone` if the home was not kept. */
  filesOf: KernelId.optional(),
  /** Files of the owner for the home, as they are when the session starts; left out where there are none. */
  dotfiles: z.array(DotfileSpec).max(MOST_DOTFILES).optional(),
  /** Bash script of the owner, which runs once before apps do; left out where there is none. */
  bootstrapScript: TextUpTo(LONGEST_VALUE).optional(),
  /**
   * The job in Slurm on whose resources the kernel runs, kept in labels for the epilog of the node; `startedAt` in seconds since the epoch.
   */
  slurmJob: z.object({ id: TextUpTo(LONGEST_NAME), startedAt: z.int().nullable() }).optional(),
  /** Time at which the session was requested, by the database's clock: its container cannot be older. */
  requestedAt: DateTime().optional(),
  /** The manager's MAC of the facts above, to be kept in the container's label. Left out by older managers. */
  managerSignature: TextUpTo(128).optional(),
})
export type KernelSpec = z.infer<typeof KernelSpec>

/**
 * Credentials for a pull from a registry. They are sent with the one request that needs them and stay in the memory of that
 * request: agents neither keep nor log them.
 */
export const RegistryAuth = z.object({
  /** Address of the registry as Docker knows it: `cr.example.org:5000`, or `https://index.docker.io/v1/`. */
  serverAddress: TextUpTo(LONGEST_NAME),
  username: TextUpTo(LONGEST_NAME),
  password: TextUpTo(LONGEST_VALUE),
})
export type RegistryAuth = z.infer<typeof RegistryAuth>

/** An image on the engine that no container uses. */
export const UnusedImage = z.object({
  id: TextUpTo(LONGEST_NAME),
  references: z.array(TextUpTo(LONGEST_NAME)),
  repoDigests: z.array(TextUpTo(LONGEST_NAME)),
  sizeBytes: z.number(),
  /** Bytes of layers that no other image has. */
  uniqueBytes: z.number(),
  /** True if the image has labels of Berth or Backend.AI. */
  labelled: z.boolean(),
})
export type UnusedImage = z.infer<typeof UnusedImage>

/** A command of a session, as the agent knows it. */
export const CommandState = z.object({
  id: CommandId,
  sessionId: SessionId,
  kernelId: KernelId,
  userId: UserId,
  /** In one line, at most 200 characters. */
  shown: TextUpTo(200),
  attached: z.boolean(),
  startedAt: DateTime(),
  ranMs: z.number().min(0),
  /** Null while it runs. */
  end: CommandEnd.nullable(),
  stdoutBytes: z.int().min(0),
  stderrBytes: z.int().min(0),
})
export type CommandState = z.infer<typeof CommandState>

/** Most bytes of output in one reply. */
export const COMMAND_PART_BYTES = 256 * 1024

/** SSH material made by the agent together with the kernel. */
export const KernelSsh = z.object({
  user: TextUpTo(LONGEST_NAME),
  hostKey: TextUpTo(LONGEST_VALUE),
  privateKey: TextUpTo(LONGEST_VALUE),
  publicKey: TextUpTo(LONGEST_VALUE),
})
export type KernelSsh = z.infer<typeof KernelSsh>

/**
 * Requests of the manager. Idempotent by (kernelId, attempt): a repeated create_kernel of the same attempt answers with
 * the state of the first. `startWithinMs` counts on the agent's monotonic clock from receipt: an agent that cannot
 * confirm in time removes the container itself and answers `kernel_create_failed`. A container is removed too if no report
 * of it has arrived at a manager by then. While a start is queued on the agent (`ahead`), each report that a manager has
 * accepted extends its deadline to at least `prepareWithinMs` after that report was sent.
 */
export const REQUESTS = {
  create_kernel: {
    input: z.object({
      spec: KernelSpec,
      startWithinMs: z.int(),
      prepareWithinMs: z.int().optional(),
      registryAuth: RegistryAuth.optional(),
      /** The image comes from another agent. Older agents ask the registry. */
      offer: ImageOffer.optional(),
    }),
    reply: z.object({ containerId: ContainerId, startedAt: DateTime(), ssh: KernelSsh }),
  },
  /**
   * Stops and removes container, network and (after a while) scratch. An unknown kernel is no error: the reply has no exit code
   * and an empty log. With `attempt`, a newer attempt is left alone, and the reply is the same.
   */
  destroy_kernel: {
    input: z.object({
      kernelId: KernelId,
      attempt: z.int().optional(),
      graceMs: z.int(),
      /** Keeps the home for at least this long, because another kernel will continue with it. Older agents keep it for the usual time. */
      keepFilesMs: z.int().min(0).optional(),
    }),
    /** `logTail` begins with the line `LOG_CUT` if the log was longer; older agents do not say so. */
    reply: z.object({ exitCode: ExitCode.nullable(), logTail: TextUpTo(LONGEST_SAID) }),
  },
  /**
   * Tells the programs of a running kernel when its session will be interrupted; null calls the interruption off. Programs are notified of
   * the same time only once, however often the request is repeated.
   */
  warn_kernel: {
    input: z.object({
      kernelId: KernelId,
      at: DateTime().nullable(),
      /** The session ends at that time and does not continue. Older agents say that it does. */
      isEnd: z.literal(true).optional(),
    }),
    reply: z.object({}),
  },
  /**
   * Mounts a folder into a running kernel, and makes a link to it in the home. Fails with `session_folders_fixed` if the kernel does not
   * support it, `folder_path_taken`, `storage_away`.
   */
  mount_folder: { input: z.object({ kernelId: KernelId, folder: KernelFolder }), reply: z.object({}) },
  /** Removes such a folder; a missing one is not an error. Without `force`, fails with `folder_busy` if programs use the folder. */
  unmount_folder: {
    input: z.object({ kernelId: KernelId, folder: FolderId, force: z.boolean() }),
    reply: z.object({}),
  },
  /**
   * Runs a command in a running kernel, as the session's user. A repeated request with the same id answers with the state of the first.
   * Fails with `commands_at_most` if the person runs too many on this host. An attached command starts when its stream comes.
   * Commands and their output are in the memory of the agent: when it ends, they are killed and forgotten.
   */
  start_command: {
    input: z.object({
      kernelId: KernelId,
      commandId: CommandId,
      userId: UserId,
      command: CommandWords,
      environ: recordOf(TextUpTo(LONGEST_NAME), TextUpTo(LONGEST_VALUE)),
      /** Null: the home. */
      workingDirectory: TextUpTo(LONGEST_VALUE).nullable(),
      stdin: TextUpTo(LONGEST_SAID),
      /** Null: no limit. */
      timeoutMs: z.int().min(1).nullable(),
      attached: z.boolean(),
    }),
    reply: CommandState,
  },
  /**
   * The state of a command. Fails with `command_not_found`. Waits for its end, or with `past` until it has written more than that, but no
   * longer than `waitMs`.
   */
  get_command: {
    input: z.object({
      sessionId: SessionId,
      commandId: CommandId,
      waitMs: z.int().min(0),
      past: z.object({ stream: CommandStream, bytes: z.int().min(0) }).optional(),
    }),
    reply: CommandState,
  },
  /** Output from this place on, or from the first byte after it that is kept. `total`: bytes written so far. */
  read_command: {
    input: z.object({ sessionId: SessionId, commandId: CommandId, stream: CommandStream, offset: z.int().min(0) }),
    reply: z.object({
      offset: z.int().min(0),
      bytes: TextUpTo(2 * COMMAND_PART_BYTES).check(z.base64()),
      total: z.int().min(0),
      ended: z.boolean(),
    }),
  },
  /** Kills a command and everything that it has started, and waits a moment for its end. */
  end_command: { input: z.object({ sessionId: SessionId, commandId: CommandId }), reply: CommandState },
  /** Commands of a session, or those that a person runs, or all: the newest first. */
  list_commands: {
    input: z.object({ sessionId: SessionId.optional(), userId: UserId.optional() }),
    reply: z.object({ commands: listOf(CommandState, 10_000) }),
  },
  get_ssh: { input: z.object({ kernelId: KernelId }), reply: KernelSsh },
  /**
   * Starts the app unless it runs, and waits until its port accepts. With options, an app that runs with others is ended and
   * started again.
   */
  start_app: {
    input: z.object({
      kernelId: KernelId,
      app: TextUpTo(LONGEST_NAME),
      timeoutMs: z.int(),
      options: AppOptions.optional(),
    }),
    reply: z.object({ inject: InjectedHeader.nullable() }),
  },
  /** Asks the engine now, so that the reply is complete. Fails with `engine_unreachable` if the engine's state is not known. */
  list_kernels: {
    input: z.object({}),
    reply: z.object({ kernels: listOf(KernelReport, 10_000) }),
  },
  /**
   * Replaces the set modes: a named device gets the given mode, any other device that of the agent's configuration. The manager
   * repeats the request until a report shows the modes.
   */
  set_device_modes: {
    input: z.object({ modes: z.record(TextUpTo(LONGEST_NAME), SettableMode) }),
    reply: z.object({}),
  },
  get_logs: {
    /** `timestamps`: each line begins with its time (RFC 3339, UTC) and a space; older agents send none. */
    input: z.object({ kernelId: KernelId, tail: z.int(), timestamps: z.boolean().optional() }),
    reply: z.object({ text: TextUpTo(LONGEST_SAID), truncated: z.boolean() }),
  },
  /**
   * Returns a part of the log of an ended kernel, as long as its host keeps the log: the first part, or the one that an earlier reply named
   * as `next`. `truncated`: the log began before the first part. Older agents answer `bad_request`.
   */
  read_kept_log: {
    input: z.object({ kernelId: KernelId, part: z.int().min(1).optional() }),
    reply: z.object({
      /** Text of at most LOG_PART_BYTES in UTF-8, packed by gzip, in base64: an agent may send only so much. */
      packed: TextUpTo(2 * LOG_PART_BYTES).check(z.base64()),
      next: z.int().nullable(),
      truncated: z.boolean(),
    }),
  },
  /** Pulls an image. With `pullId`, notices report the progress. */
  pull_image: {
    input: z.object({
      reference: TextUpTo(LONGEST_NAME),
      pullId: TextUpTo(LONGEST_NAME).optional(),
      auth: RegistryAuth.optional(),
    }),
    reply: z.object({ id: TextUpTo(LONGEST_NAME) }),
  },
  /**
   * Takes an image from another agent, over the data socket that the manager joins to one of the other agent. Sockets that break are replaced
   * by the manager; layers that have arrived are not sent again. Notices with `pullId` report the progress. Older agents answer `bad_request`.
   */
  take_image: {
    input: z.object({ offer: ImageOffer, pullId: TextUpTo(LONGEST_NAME) }),
    reply: z.object({ id: TextUpTo(LONGEST_NAME) }),
  },
  /**
   * Makes an image of the file system of a running kernel, without what Berth gave the session. Notices with `saveId` report
   * the progress, as for a pull. `reference` has a tag; `title` null keeps that of the kernel's image. `madeBy` is left out by older
   * managers.
   */
  save_kernel: {
    input: z.object({
      kernelId: KernelId,
      reference: TextUpTo(LONGEST_NAME),
      title: TextUpTo(LONGEST_VALUE).nullable(),
      madeBy: TextUpTo(LONGEST_NAME).optional(),
      saveId: TextUpTo(LONGEST_NAME),
    }),
    reply: z.object({ id: TextUpTo(LONGEST_NAME) }),
  },
  /** Gives an image of this host the name `target` (registry, repository, tag) and pushes it. Notices with `pushId` report the progress. */
  push_image: {
    input: z.object({
      reference: TextUpTo(LONGEST_NAME),
      target: TextUpTo(LONGEST_NAME),
      pushId: TextUpTo(LONGEST_NAME),
      auth: RegistryAuth.optional(),
    }),
    reply: z.object({}),
  },
  /**
   * Builds an image from the text of a Dockerfile. Notices with `buildId` carry its log. An image that exists is not replaced, so a
   * repeated request fails with `image_exists`.
   */
  build_image: {
    input: z.object({
      reference: TextUpTo(LONGEST_NAME),
      recipe: TextUpTo(LONGEST_VALUE),
      buildId: TextUpTo(LONGEST_NAME),
    }),
    reply: z.object({ id: TextUpTo(LONGEST_NAME) }),
  },
  /** Lists all images that no container uses, except the toolbox. */
  list_unused_images: { input: z.object({}), reply: z.object({ images: listOf(UnusedImage, 100_000) }) },
  /**
   * Removes names from images, and images that have no name left. With `reference`, removes only that name. With `listed`, an
   * image that also has a name outside this list stays. An image stays if a container or a starting kernel uses it, and so does the
   * toolbox.
   */
  remove_images: {
    input: z.object({
      images: z.array(
        z.object({
          id: TextUpTo(LONGEST_NAME),
          reference: TextUpTo(LONGEST_NAME).optional(),
          listed: z.array(TextUpTo(LONGEST_NAME)).optional(),
        }),
      ),
    }),
    reply: z.object({
      removed: listOf(z.object({ id: TextUpTo(LONGEST_NAME), references: listOf(TextUpTo(LONGEST_NAME)) }), 100_000),
      kept: listOf(z.object({ id: TextUpTo(LONGEST_NAME), why: TextUpTo(LONGEST_VALUE) }), 100_000),
      freedBytes: z.number(),
    }),
  },
  /**
   * Fetches a program from the manager that asks, by `HOST_BUNDLES_PATH` and the digest of the archive, and starts to replace the agent by it.
   * The reply comes before the agent ends. The next agent reports the new digest, or the old one with the id as `failed`. A repeated request
   * with the same id joins the first. Fails with `unavailable`. Older agents answer `bad_request`.
   */
  update_program: {
    input: z.object({
      id: z.uuid(),
      version: TextUpTo(64).regex(/^\d[0-9A-Za-z.+-]*$/),
      /** Digest of the files of the program, and SHA-256 of the archive with it, hexadecimal. */
      digest: TextUpTo(64).regex(/^[0-9a-f]{64}$/),
      sha256: TextUpTo(64).regex(/^[0-9a-f]{64}$/),
      bytes: z
        .int()
        .min(1)
        .max(2 ** 31),
      /** Opens the download; sent as `authorization: Bearer`. */
      ticket: TextUpTo(LONGEST_NAME),
    }),
    reply: z.object({}),
  },
  /**
   * Removes Berth from the host, which has no sessions any more: the reply comes first, then the agent ends, and its script removes networks,
   * volumes, firewall, state, service and program, with `images` also the images of Berth. `removes` is false where only an administrator of
   * the host can do that. `homes` and `storage`: directories that stay. Fails with `unavailable` while a container of a session is there.
   */
  leave_host: {
    input: z.object({ images: z.boolean() }),
    reply: z.object({
      removes: z.boolean(),
      homes: z.array(CleanLine()).max(10),
      storage: z.array(CleanLine()).max(100),
    }),
  },
  /** Runs `berth doctor` for this agent and its host. Two requests at once share one run. */
  diagnose: { input: z.object({}), reply: z.object({ diagnosis: Diagnosis, log: LogLines }) },
} as const
export type RequestName = keyof typeof REQUESTS
export type RequestInput<N extends RequestName> = z.infer<(typeof REQUESTS)[N]['input']>
export type RequestReply<N extends RequestName> = z.infer<(typeof REQUESTS)[N]['reply']>

export const Request = z.object({
  type: z.literal('request'),
  id: z.int(),
  name: TextUpTo(LONGEST_NAME),
  input: z.unknown(),
})
export const Reply = z.object({
  type: z.literal('reply'),
  id: z.int(),
  value: z.unknown().optional(),
  error: z
    .object({
      code: TextUpTo(LONGEST_NAME),
      message: TextUpTo(LONGEST_SAID),
      detail: z.record(TextUpTo(LONGEST_NAME), z.unknown()),
    })
    .optional(),
})
/** Sent when the manager gives up on a request (caller gone, deadline): the agent stops the work if it can. */
export const Cancel = z.object({ type: z.literal('cancel'), id: z.int() })
