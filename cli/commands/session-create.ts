import { type Command, Option } from 'commander'
import { type Complete, defined } from '#base/defined'
import {
  ClusterMode,
  type ApiClient,
  AppError,
  type CodeSource,
  fetchFirst,
  type FolderMountSpec,
  SESSION_HOME,
  type SessionSpec,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { parseCount } from './count-option.ts'
import { durationOption } from './duration.ts'
import { collectFolder } from './folder-flag.ts'
import { gpuChoiceOf, type GpuFlags, withGpuChoice } from './gpu-flags.ts'
import { findImageDefaults } from './image-defaults.ts'
import { importOption } from './import-flag.ts'
import { parseAmountOf } from './limit-flags.ts'
import { parseMoment } from './moment.ts'
import { collectTag } from './session-labels.ts'
import { collect, parsePriority, whatIfText } from './session-waiting.ts'
import { slurmChoiceOf, type SlurmChoiceFlags, withSlurmChoice } from './slurm-flags.ts'
import { type NetworkFlags, networkOf, withNetwork } from './network-flags.ts'
import { printCreated } from './print-created.ts'
import { findTemplate } from './templates.ts'
import { collectVariable } from './variable-flag.ts'

const NO_IMAGE = 'Name an image with --image, or a --template.'

/** Options of a launch, as they were given. */
export interface CreateFlags extends GpuFlags, NetworkFlags, SlurmChoiceFlags {
  image?: string
  template?: string
  defaults?: boolean
  name?: string
  cpu?: string
  mem?: string
  shm?: string
  gpu?: string
  gpuShares?: string
  env?: Record<string, string>
  count?: number
  command?: string
  import?: CodeSource
  imageCommand?: boolean
  batch?: boolean
  idleTimeout?: number
  maxLifetime?: number
  resourceGroup?: string
  project?: string
  clusterSize?: number
  clusterMode?: ClusterMode
  priority?: number
  interruptible?: boolean
  dependsOn?: string[]
  tag?: string[]
  note?: string
  folder?: FolderMountSpec[]
  automount?: boolean
  startAt?: string
  owner?: string
  dryRun?: boolean
  wait?: boolean
  json?: boolean
}
/** Options of a launch that `session create` and `run` share. */
export function addLaunchOptions(command: Command): Command {
  command
    .option('--image <reference>', 'see `berth image ls`; needed without --template')
    .option('--template <name>', 'begin with a template of yours (see `berth template ls`); other options change it')
    .addOption(
      new Option('--defaults', 'begin with your defaults for the image (see `berth image defaults`)').conflicts(
        'template',
      ),
    )
    .option('--name <name>', '4 to 64 letters, digits and inner - _ .')
    .option('--cpu <cores>', 'e.g. 2 or 0.5', parseAmountOf('cpu'))
    .option('--mem <amount>', 'e.g. 4g', parseAmountOf('mem'))
    .option('--shm <amount>', 'shared memory, part of --mem', parseAmountOf('mem'))
    .option('--gpu <devices>', 'whole GPUs', parseAmountOf('cuda.device'))
    .option('--gpu-shares <shares>', 'a share of a GPU, e.g. 0.5', parseAmountOf('cuda.shares'))
  return withNetwork(withSlurmChoice(withGpuChoice(command)))
    .option('--env <NAME=VALUE>', 'environment variable, may be repeated; 64 KiB in all', collectVariable)
    .option('--idle-timeout <time>', 'end the session when it is idle for this time, e.g. 90m', durationOption)
    .option('--max-lifetime <time>', 'end the session this time after its start, e.g. 8h', durationOption)
    .option('--resource-group <name>', 'resource group (see `berth resource-group ls`)')
    .option('--project <name>', 'project whose limits the session counts towards')
    .option('--priority <number>', 'order in the queue, larger first: -10 to 0, for admins up to 10', parsePriority)
    .option('--tag <tag>', 'word by which you find the session again; may be repeated', collectTag)
    .option('--note <text>', 'text about the session')
    .option('--no-automount', 'without your folders whose names start with a dot, which are mounted by themselves')
    .option('--folder <NAME[:PATH][:ro]>', 'mount a folder, at PATH below /home/work; may be repeated', collectFolder)
}

/** Call before the sign-in, as all other faults of a command line are told. @throws AppError `bad_request` */
export function requireImage({ image, template }: CreateFlags): void {
  if (image === undefined && template === undefined) throw new AppError('bad_request', { why: NO_IMAGE })
}

/** The request of a launch. @throws AppError `bad_request` */
export async function launchOf(api: ApiClient, flags: CreateFlags): Promise<SessionSpec> {
  return specOf(flags, await startingSpecOf(api, flags))
}

/** Adds `berth session create`. */
export function addSessionCreateCommand(session: Command): void {
  addLaunchOptions(session.command('create').description('Launch a session.'))
    .option('--count <number>', 'how many sessions to launch (default: 1)', parseCount)
    .option('--command <line>', 'command that the shell of the image runs when the session starts')
    .option(
      '--import <address>',
      'https address of a Git repository or a notebook, which the session fetches into its home before the command',
      importOption,
    )
    .addOption(
      new Option(
        '--image-command',
        'run the program of the image (ENTRYPOINT and CMD) when the session starts',
      ).conflicts('import'),
    )
    .option('--batch', 'run the command as a batch job: the session ends with its exit code')
    .option('--cluster-size <kernels>', 'number of containers, each with these resources, on one host', parseCount)
    .addOption(
      new Option(
        '--cluster-mode <mode>',
        'multi-host: on several hosts if no single one has room; with Slurm, each on its own',
      ).choices(ClusterMode.options),
    )
    .option(
      '--interruptible',
      'may be stopped for a session of higher priority; it is warned, keeps its files, and continues later',
    )
    .option('--depends-on <session>', 'start once this session has ended with exit code 0; may be repeated', collect)
    .option('--start-at <time>', 'start at this time or later: "2026-05-04 18:00", 18:00 or +2h', text =>
      parseMoment(text),
    )
    .option('--owner <email>', 'for admins: the user to launch for, in whose limits the session counts')
    .option('--dry-run', 'launch nothing: show whether the session would start now, and if not, why')
    .option(
      '--wait',
      'wait until the session runs, or with --batch has ended; fails if it does not start or does not end with exit code 0',
    )
    .option('--json', 'print JSON')
    .action(async (flags: CreateFlags) => {
      requireImage(flags)
      const { api } = await connect()
      const output = createOutput(flags.json ?? false)
      const body = await launchOf(api, flags)
      if (flags.dryRun) {
        const answer = await api.whatIf({ body })
        output.data(answer, () => whatIfText(answer))
        return
      }
      const { items, notices } = await api.createSession({ body })
      for (const notice of notices) output.note(notice.message)
      await printCreated({ api, output, items, wait: flags.wait })
    })
}

/** The request that the options change: a template, or the user's defaults for the image. */
async function startingSpecOf(
  api: ApiClient,
  { template, image, defaults = false }: CreateFlags,
): Promise<SessionSpec | undefined> {
  if (template !== undefined) return findTemplate(api, template)
  if (!defaults || image === undefined) return undefined
  const { changedAt: _changedAt, ...settings } = await findImageDefaults(api, image)
  return { ...settings, count: 1, resourceGroup: 'default' }
}

/** The request. Options replace what the template has; amounts and variables that they do not name stay. */
function specOf(flags: CreateFlags, template?: SessionSpec): SessionSpec {
  const { name, shm, env, command } = flags
  const image = flags.image ?? template?.image
  if (image === undefined) throw new AppError('bad_request', { why: NO_IMAGE })
  if (flags.batch && !command && !flags.imageCommand && !template?.startupCommand && !template?.runImageCommand)
    throw new AppError('bad_request', { why: 'A batch session needs --command or --image-command.' })
  const resources = {
    ...(flags.cpu ? { cpu: flags.cpu } : {}),
    ...(flags.mem ? { mem: flags.mem } : {}),
    ...(flags.gpu ? { 'cuda.device': flags.gpu } : {}),
    ...(flags.gpuShares ? { 'cuda.shares': flags.gpuShares } : {}),
  }
  const { startupCommand: _command, runImageCommand: _program, gpu: _gpu, ...settings } = template ?? {}
  const program = command === undefined && !flags.imageCommand ? template : undefined
  const own = command ?? program?.startupCommand
  const startupCommand = flags.import ? fetchFirst(own ?? '', flags.import, SESSION_HOME) : own
  const keepsProgram = program?.runImageCommand && !flags.import
  const named: Complete<SessionSpec> = {
    name,
    image,
    resources: { ...template?.resources, ...resources },
    gpu: gpuChoiceOf(flags, template?.gpu),
    slurm: slurmChoiceOf(flags, template?.slurm),
    shmem: shm,
    environ: { ...template?.environ, ...env },
    count: flags.count ?? template?.count ?? 1,
    resourceGroup: flags.resourceGroup ?? template?.resourceGroup ?? 'default',
    group: flags.project,
    startupCommand,
    runImageCommand: keepsProgram || flags.imageCommand ? true : undefined,
    kind: flags.batch ? 'batch' : undefined,
    idleTimeoutSeconds: flags.idleTimeout,
    maxLifetimeSeconds: flags.maxLifetime,
    clusterSize: flags.clusterSize,
    clusterMode: flags.clusterMode,
    network: networkOf(flags, template?.network),
    priority: flags.priority,
    interruptible: flags.interruptible ? true : undefined,
    dependsOn: flags.dependsOn,
    tags: flags.tag && [...new Set(flags.tag)],
    note: flags.note,
    folders: flags.folder,
    automount: flags.automount === false ? false : undefined,
    startsAt: flags.startAt,
    owner: flags.owner,
  }
  return { ...settings, ...defined(named) }
}
