import { type Command, InvalidArgumentError, Option } from 'commander'
import { defined } from '#base/defined'
import {
  type ApiClient,
  AppError,
  type CodeSource,
  emptyLogText,
  fetchFirst,
  type FolderMountSpec,
  type Session,
  SESSION_HOME,
  SessionSort,
  type SessionSpec,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { EXIT } from '../exit-codes.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput, type Output } from '../output.ts'
import { type Kept, leftOut } from './command-of-other.ts'
import { durationOption } from './duration.ts'
import { everyPage } from './every-page.ts'
import { findSession } from './find-session.ts'
import { changedFolders, collectFolder, type RestartFolders } from './folder-flag.ts'
import { findImageDefaults } from './image-defaults.ts'
import { importOption } from './import-flag.ts'
import { parseAmountOf } from './limit-flags.ts'
import { addSessionFolderCommands } from './session-folders.ts'
import { addSessionImageCommand } from './session-image.ts'
import { addSessionLabelCommands, collectTag } from './session-labels.ts'
import { addSessionSharingCommands } from './session-sharing.ts'
import { card, describe, endText, eventLine, sessionTable, statsTable } from './session-text.ts'
import { collect, parsePriority, whatIfText } from './session-waiting.ts'
import { parseMoment } from './moment.ts'
import { findTemplate } from './templates.ts'
import { collectVariable } from './variable-flag.ts'
import { waitForCreated, waitForEnded } from './wait-for-sessions.ts'
import { type LogFlags, writeWholeLog } from './whole-log.ts'

const NO_IMAGE = 'Name an image with --image, or a --template.'

interface CreateFlags {
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
interface LsFlags {
  readonly all?: boolean
  readonly accessKey?: string
  readonly status?: string
  readonly tag?: string
  readonly search?: string
  readonly sort?: SessionSort
}

interface JsonFlag {
  json?: boolean
}

/** `berth session …`. A session is named by its id, the start of its id, or its name. */
export function addSessionCommands(program: Command): void {
  const session = program.command('session').description('Create, list, show and end sessions.')

  session
    .command('create')
    .description('Launch a session.')
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
    .option('--env <NAME=VALUE>', 'environment variable, may be repeated', collectVariable)
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
    .option('--idle-timeout <time>', 'end the session when it is idle for this time, e.g. 90m', durationOption)
    .option('--max-lifetime <time>', 'end the session this time after its start, e.g. 8h', durationOption)
    .option('--resource-group <name>', 'resource group (see `berth resource-group ls`)')
    .option('--project <name>', 'project whose limits the session counts towards')
    .option('--cluster-size <kernels>', 'number of containers on one host, each with these resources', parseCount)
    .option('--priority <number>', 'order in the queue, larger first: -10 to 0, for admins up to 10', parsePriority)
    .option(
      '--interruptible',
      'may be stopped for a session of higher priority; it is warned, keeps its files, and continues later',
    )
    .option('--depends-on <session>', 'start once this session has ended with exit code 0; may be repeated', collect)
    .option('--tag <tag>', 'word by which you find the session again; may be repeated', collectTag)
    .option('--note <text>', 'text about the session')
    .option('--no-automount', 'without your folders whose names start with a dot, which are mounted by themselves')
    .option('--folder <NAME[:PATH][:ro]>', 'mount a folder, at PATH below /home/work; may be repeated', collectFolder)
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
      // Checked before the sign-in, as all other faults of a command line are.
      if (flags.image === undefined && flags.template === undefined)
        throw new AppError('bad_request', { why: NO_IMAGE })
      const { api } = await connect()
      const output = createOutput(flags.json ?? false)
      const body = specOf(flags, await beginningOf(api, flags))
      if (flags.dryRun) {
        const answer = await api.whatIf({ body })
        output.data(answer, () => whatIfText(answer))
        return
      }
      const { items, notices } = await api.createSession({ body })
      for (const notice of notices) output.note(notice.message)
      await tellOfCreated({ api, output, items, wait: flags.wait })
    })

  session
    .command('extend <session>')
    .description('Postpone the end of a session. The idle time starts again; --by makes the maximum lifetime longer.')
    .option(
      '--by <time>',
      'e.g. 2h (default, if the maximum lifetime ends the session next: its initial value, as far as allowed)',
      durationOption,
    )
    .option('--json', 'print JSON')
    .action(async (reference: string, flags: JsonFlag & { by?: number }) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      const body = defined({ seconds: flags.by })
      const extended = await api.extendSession({ params: { id }, body })
      createOutput(flags.json ?? false).data(extended, () => `${describe(extended)}  ${endText(extended)}`.trimEnd())
    })

  session
    .command('restart <session>')
    .description('Start an ended session of yours again, with the same settings, on the same host, with its files.')
    .option(
      '--wait',
      'wait until the session runs, or a batch session has ended; fails if it does not start or does not end with exit code 0',
    )
    .option('--folder <NAME[:PATH][:ro]>', 'mount one more folder; may be repeated', collectFolder)
    .option('--without-folder <name>', 'without a folder that the session had; may be repeated', collect)
    .option(
      '--keep-command',
      'of a session that an admin launched for you: take the image, command, variables and folders that the admin chose',
    )
    .option(
      '--keep-files',
      'of a session that an admin launched for you: continue with its files; its command may have left a start-up file',
    )
    .option('--json', 'print JSON')
    .action(async (reference: string, flags: JsonFlag & RestartFolders & Kept & { wait?: boolean }) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      const had = await api.getSession({ params: { id } })
      const folders = changedFolders(had, flags)
      const { keepCommand, keepFiles } = flags
      const body = {
        ...(folders ? { folders } : {}),
        ...(keepCommand ? { keepCommand } : {}),
        ...(keepFiles ? { keepFiles } : {}),
      }
      const { notices = [], ...next } = await api.restartSession({
        params: { id },
        ...(Object.keys(body).length > 0 ? { body } : {}),
      })
      const output = createOutput(flags.json ?? false)
      for (const note of leftOut(had, next, flags)) output.note(note)
      for (const { message } of notices) output.note(message)
      await tellOfCreated({ api, output, items: [next], wait: flags.wait })
    })

  addSessionFolderCommands(session)
  addSessionLabelCommands(session)
  addSessionSharingCommands(session)
  addSessionImageCommand(session)

  session
    .command('stats <session>')
    .description('Usage of a session over time: the last 5 minutes by the second, the last 7 days by the minute.')
    .option('--last <time>', 'how far back, e.g. 5m or 2d', durationOption, 3_600)
    .option('--step <time>', 'time per line', durationOption)
    .option('--json', 'print JSON')
    .action(async (reference: string, flags: JsonFlag & { last: number; step?: number }) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      // No end is sent: the manager uses the current time of its own clock.
      const from = new Date(Date.now() - flags.last * 1000).toISOString()
      const step = defined({ step: flags.step })
      const stats = await api.getSessionStats({ params: { id }, query: { from, ...step } })
      createOutput(flags.json ?? false).data(stats, () => statsTable(stats.items))
    })

  session
    .command('ls')
    .description('List live sessions, newest first. --all shows finished ones too.')
    .option('--all', 'also show finished sessions')
    .option('--status <list>', 'live, finished, failed, or statuses separated by commas')
    .option('--tag <tag>', 'only sessions with this tag')
    .option('--search <text>', 'part of the name, the image, the resource group or the e-mail address of the owner')
    .option('--access-key <key>', 'only sessions that were launched with this keypair')
    .addOption(new Option('--sort <order>', 'order, falling with a minus: --sort=-name').choices(SessionSort.options))
    .option('--json', 'print JSON')
    .action(async (flags: JsonFlag & LsFlags) => {
      const { api, userId } = await connect()
      const status = flags.status ?? (flags.all ? undefined : 'live')
      const items = await everyPage(cursor =>
        api.listSessions({
          query: {
            status: status || undefined,
            tag: flags.tag,
            search: flags.search,
            accessKey: flags.accessKey,
            sort: flags.sort,
            ...cursor,
          },
        }),
      )
      const me = await userId()
      createOutput(flags.json ?? false).data(items, () => sessionTable(items, me))
    })

  session
    .command('show <session>')
    .description('Show one session with its resources, apps and status reason.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: JsonFlag) => {
      const found = await findSession(await connect(), reference)
      createOutput(json).data(found, () => card(found))
    })

  session
    .command('rm <session...>')
    .description(
      'Cancel waiting sessions, terminate running ones. Files in mounted folders stay; the rest of /home/work is kept for about a day while there is room, everything else is deleted.',
    )
    .option('--wait', 'wait until the sessions have ended')
    .option('--why <text>', 'reason for the owner, beside who ended the session')
    .option('--force', 'for admins: end a session that hangs while it terminates, without waiting for its agent')
    .option('--json', 'print JSON')
    .action(async (references: string[], flags: JsonFlag & { wait?: boolean; why?: string; force?: boolean }) => {
      const connection = await connect()
      const { api } = connection
      const output = createOutput(flags.json ?? false)
      using interrupt = listenForInterrupt()
      const { signal } = interrupt
      const query = {
        ...defined({ why: flags.why }),
        ...(flags.force ? { force: 'true' } : {}),
      }
      const sessions: Session[] = []
      for (const reference of references) {
        if (signal.aborted) break
        const { id } = await findSession(connection, reference)
        sessions.push(await api.deleteSession({ params: { id }, query }))
      }
      const ended = flags.wait ? await waitForEnded({ api, sessions, signal, output }) : sessions
      output.data(ended, () => ended.map(describe).join('\n'))
      signal.throwIfAborted()
    })

  session
    .command('logs <session>')
    .description('Show the log of the main container, or of another one.')
    .option('--kernel <role>', 'e.g. sub1')
    .option('--tail <lines>', 'number of last lines', parseCount, 2000)
    .option('--all', 'everything that is kept; of a running session the last megabyte')
    .option('--output <file>', 'write everything that is kept to a file, which must not exist yet')
    .option('--timestamps', 'while the session runs: the time before each line')
    .option('--json', 'print JSON')
    .action(async (reference: string, flags: LogFlags) => {
      const connection = await connect()
      const { api } = connection
      const session = await findSession(connection, reference)
      const output = createOutput(flags.json ?? false)
      const params = { id: session.id }
      if (flags.all === true || flags.output !== undefined) return writeWholeLog({ api, session, output }, flags)
      const logs = await api.getSessionLogs({
        params,
        query: {
          tail: flags.tail,
          ...defined({ kernel: flags.kernel }),
          ...(flags.timestamps ? { timestamps: 'true' } : {}),
        },
      })
      if (logs.text === '') output.note(emptyLogText(session))
      if (logs.text !== '' || output.json) output.data(logs, () => logs.text.replace(/\n$/, ''))
      if (logs.truncated) output.note('Older lines are not shown: --all shows everything that is kept.')
    })

  session
    .command('priority <session>')
    .argument('<number>', '-10 to 10', parsePriority)
    .description(
      'Set the order of a waiting session in the queue: larger goes first. Owners may lower the priority, admins may raise it.',
    )
    .option('--json', 'print JSON')
    .allowUnknownOption()
    .action(async (reference: string, priority: number, { json = false }: JsonFlag) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      const changed = await api.setSessionPriority({ params: { id }, body: { priority } })
      createOutput(json).data(changed, () => `${describe(changed)}  priority ${changed.priority}`)
    })

  session
    .command('events <session>')
    .description('Show every status change of a session with its reason.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: JsonFlag) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      const items = await everyPage(query => api.listSessionEvents({ params: { id }, query }))
      createOutput(json).data(items, () => items.map(eventLine).join('\n'))
    })
}

interface Created {
  readonly api: ApiClient
  readonly output: Output
  readonly items: readonly Session[]
  readonly wait: boolean | undefined
}

/**
 * Prints the created sessions, with --wait in their state after the wait; a batch session that ended badly makes the command
 * fail.
 */
async function tellOfCreated({ api, output, items, wait = false }: Created): Promise<void> {
  using interrupt = listenForInterrupt()
  const { signal } = interrupt
  const sessions = wait ? await waitForCreated({ api, sessions: items, signal, output }) : items
  output.data(sessions.length > 1 ? sessions : sessions[0], () => sessions.map(describe).join('\n'))
  if (signal.aborted) output.note('The command stopped waiting. The session stays; \`berth session rm\` ends it.')
  signal.throwIfAborted()
  if (!wait) return
  const jobs = sessions.filter(one => one.kind === 'batch')
  for (const one of jobs) output.note(`${one.name}: ${one.reason.message}`)
  if (jobs.some(one => one.result !== 'success')) process.exitCode = EXIT.failed
}

/** The request that the options change: a template, or the user's defaults for the image. */
async function beginningOf(
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
  const { startupCommand: _command, runImageCommand: _program, ...settings } = template ?? {}
  const program = command === undefined && !flags.imageCommand ? template : undefined
  const own = command ?? program?.startupCommand
  const startupCommand = flags.import ? fetchFirst(own ?? '', flags.import, SESSION_HOME) : own
  return {
    ...settings,
    ...defined({ startupCommand }),
    ...(program?.runImageCommand && !flags.import ? { runImageCommand: true } : {}),
    image,
    resources: { ...template?.resources, ...resources },
    ...(flags.batch ? { kind: 'batch' as const } : {}),
    ...defined({ idleTimeoutSeconds: flags.idleTimeout, maxLifetimeSeconds: flags.maxLifetime }),
    environ: { ...template?.environ, ...env },
    count: flags.count ?? template?.count ?? 1,
    resourceGroup: flags.resourceGroup ?? template?.resourceGroup ?? 'default',
    ...defined({ name, group: flags.project, clusterSize: flags.clusterSize, priority: flags.priority }),
    ...(flags.interruptible ? { interruptible: true } : {}),
    ...defined({ dependsOn: flags.dependsOn }),
    ...(flags.tag === undefined ? {} : { tags: [...new Set(flags.tag)] }),
    ...defined({ note: flags.note, folders: flags.folder }),
    ...(flags.automount === false ? { automount: false } : {}),
    ...defined({ shmem: shm }),
    ...(flags.imageCommand ? { runImageCommand: true } : {}),
    ...defined({ startsAt: flags.startAt, owner: flags.owner }),
  }
}

function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1)
    throw new InvalidArgumentError('The value must be a whole number of 1 or more.')
  return count
}
