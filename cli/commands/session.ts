import { setTimeout as wait } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import {
  type ApiClient,
  AppError,
  isFinished,
  type Session,
  type SessionEvent,
  type SessionSpec,
} from '#manager/contract'
import { connect, findSession } from '../config/connect.ts'
import { createOutput, type Output, table } from '../output.ts'
import { untilInterrupted } from '../interrupt.ts'
import { age, amounts, bytes } from './text.ts'

interface CreateFlags {
  image: string
  name?: string
  cpu?: string
  mem?: string
  shm?: string
  gpu?: string
  gpuShares?: string
  env: Record<string, string>
  count: number
  command?: string
  resourceGroup?: string
  wait?: boolean
  json?: boolean
}
interface JsonFlag {
  json?: boolean
}

const POLL_MS = 250

/** `berth session …`. A session is named by its id, the start of its id, or its name. */
export function addSessionCommands(program: Command): void {
  const session = program.command('session').description('Create, list, show and end sessions.')

  session
    .command('create')
    .description('Ask for a session.')
    .requiredOption('--image <reference>', 'see `berth image ls`')
    .option('--name <name>', '4 to 64 letters, digits and inner - _ .')
    .option('--cpu <cores>', 'e.g. 2 or 0.5')
    .option('--mem <amount>', 'e.g. 4g')
    .option('--shm <amount>', 'shared memory, part of --mem')
    .option('--gpu <devices>', 'whole GPUs')
    .option('--gpu-shares <shares>', 'a share of a GPU, e.g. 0.5')
    .option('--env <NAME=VALUE>', 'environment variable, may be repeated', collectVariable, {})
    .option('--count <number>', 'how many of them', parseCount, 1)
    .option('--command <line>', 'run by the shell of the image; the session ends with it')
    .option('--resource-group <name>', 'agents to choose from')
    .option('--wait', 'until it runs (fails if it does not)')
    .option('--json', 'print JSON')
    .action(async (flags: CreateFlags) => {
      const { api } = await connect()
      const output = createOutput(flags.json ?? false)
      const { items, notices } = await api.createSession({ body: specOf(flags) })
      for (const notice of notices) output.note(notice.message)
      const signal = untilInterrupted()
      const sessions = flags.wait
        ? await Promise.all(items.map(item => waitUntilRunning(api, item, signal, output)))
        : items
      output.data(flags.count > 1 ? sessions : sessions[0], () => sessions.map(describe).join('\n'))
    })

  session
    .command('ls')
    .description('Live sessions, newest first; --all shows finished ones too.')
    .option('--all', 'finished ones too')
    .option('--status <list>', 'live, finished, or statuses separated by commas')
    .option('--json', 'print JSON')
    .action(async (flags: JsonFlag & { all?: boolean; status?: string }) => {
      const { api } = await connect()
      const status = flags.status ?? (flags.all ? undefined : 'live')
      const items = await everyPage(cursor => api.listSessions({ query: { ...(status ? { status } : {}), ...cursor } }))
      createOutput(flags.json ?? false).data(items, () => sessionTable(items))
    })

  session
    .command('show <session>')
    .description('One session with its resources, apps and reason.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: JsonFlag) => {
      const { api } = await connect()
      const found = await findSession(api, reference)
      createOutput(json).data(found, () => card(found))
    })

  session
    .command('rm <session...>')
    .description('Cancel waiting sessions, terminate running ones. Files outside of mounted folders are lost.')
    .option('--wait', 'until they have ended')
    .option('--json', 'print JSON')
    .action(async (references: string[], flags: JsonFlag & { wait?: boolean }) => {
      const { api } = await connect()
      const output = createOutput(flags.json ?? false)
      const signal = untilInterrupted()
      const ended: Session[] = []
      for (const reference of references) {
        const { id } = await findSession(api, reference)
        const session = await api.deleteSession({ params: { id } })
        ended.push(flags.wait ? await waitUntil(api, session, one => isFinished(one.status), signal) : session)
      }
      output.data(ended, () => ended.map(describe).join('\n'))
    })

  session
    .command('logs <session>')
    .description('Log of the main container.')
    .option('--tail <lines>', 'how many of the last lines', parseCount, 2000)
    .option('--json', 'print JSON')
    .action(async (reference: string, flags: JsonFlag & { tail: number }) => {
      const { api } = await connect()
      const { id } = await findSession(api, reference)
      const logs = await api.getSessionLogs({ params: { id }, query: { tail: flags.tail } })
      createOutput(flags.json ?? false).data(logs, () => logs.text.replace(/\n$/, ''))
    })

  session
    .command('events <session>')
    .description('Every state of the session with its reason.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: JsonFlag) => {
      const { api } = await connect()
      const { id } = await findSession(api, reference)
      const { items } = await api.listSessionEvents({ params: { id } })
      createOutput(json).data(items, () => items.map(eventLine).join('\n'))
    })
}

function specOf(flags: CreateFlags): SessionSpec {
  const { image, name, shm, env, count, command, resourceGroup = 'default' } = flags
  const resources = {
    ...(flags.cpu ? { cpu: flags.cpu } : {}),
    ...(flags.mem ? { mem: flags.mem } : {}),
    ...(flags.gpu ? { 'cuda.device': flags.gpu } : {}),
    ...(flags.gpuShares ? { 'cuda.shares': flags.gpuShares } : {}),
  }
  return {
    image,
    resources,
    environ: env,
    count,
    resourceGroup,
    ...(name === undefined ? {} : { name }),
    ...(shm === undefined ? {} : { shmem: shm }),
    ...(command === undefined ? {} : { startupCommand: command }),
  }
}

/** @throws AppError `session_not_running` with the reason where it ended instead */
async function waitUntilRunning(
  api: ApiClient,
  session: Session,
  signal: AbortSignal,
  output: Output,
): Promise<Session> {
  let told = ''
  const reached = await waitUntil(
    api,
    session,
    one => {
      if (one.reason.message !== told && one.status !== 'RUNNING')
        output.note(`${one.name}: ${one.status} – ${one.reason.message}`)
      told = one.reason.message
      return one.status === 'RUNNING' || isFinished(one.status)
    },
    signal,
  )
  if (reached.status === 'RUNNING') return reached
  throw new AppError('session_not_running', { why: `${reached.name} is ${reached.status}: ${reached.reason.message}` })
}

async function waitUntil(
  api: ApiClient,
  session: Session,
  done: (session: Session) => boolean,
  signal: AbortSignal,
): Promise<Session> {
  for (let current = session; ;) {
    if (done(current)) return current
    await wait(POLL_MS, undefined, { signal })
    current = await api.getSession({ params: { id: session.id } })
  }
}

async function everyPage<T>(
  page: (cursor: { cursor?: string; limit: number }) => Promise<{ items: T[]; nextCursor: string | null }>,
): Promise<T[]> {
  const all: T[] = []
  for (let cursor: string | null | undefined; ;) {
    const { items, nextCursor } = await page({ limit: 500, ...(cursor ? { cursor } : {}) })
    all.push(...items)
    if (!nextCursor) return all
    cursor = nextCursor
  }
}

const describe = (session: Session) => `${session.id}  ${session.name}  ${session.status}`
const sessionTable = (items: readonly Session[]) =>
  table(
    ['ID', 'NAME', 'STATUS', 'IMAGE', 'RESOURCES', 'AGE'],
    items.map(one => [one.id, one.name, one.status, one.image, amounts(one.requested), age(one.createdAt)]),
  )

function card(session: Session): string {
  const waits = session.queuePosition === null ? '' : ` (position ${session.queuePosition})`
  const rows = [
    ['id', session.id],
    ['name', session.name],
    ['status', `${session.status}${waits}${session.reachable ? '' : ' (agent not reachable)'}`],
    ['reason', session.reason.message],
    ['image', session.image],
    ['resources', `${amounts(session.requested)}, ${bytes(Number(session.shmem))} shared memory`],
    ['apps', session.apps.map(app => app.name).join(', ') || '–'],
    ['agent', session.kernels.map(kernel => kernel.agentName ?? '–').join(', ')],
    ['created', session.createdAt],
    ['started', session.startedAt ?? '–'],
    ['ended', session.endedAt ?? '–'],
  ]
  return rows.map(([key = '', value = '']) => `${key.padEnd(10)} ${value}`).join('\n')
}

const eventLine = (event: SessionEvent) =>
  `${event.at}  ${event.from ? `${event.from} → ` : ''}${event.to}  ${event.reason.message}${event.actor ? ` (${event.actor})` : ''}`

function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('It must be a whole number of 1 or more.')
  return count
}

function collectVariable(text: string, all: Record<string, string>): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be NAME=VALUE.')
  return { ...all, [text.slice(0, at)]: text.slice(at + 1) }
}
