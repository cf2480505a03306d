import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { type ApiClient, AppError, isAppError, isFinished, type Session, sessionImagePrefix } from '#manager/contract'
import { findSession } from '../find.ts'
import { Flag, readInput } from '../input.ts'
import { LaunchInput, toSessionSpec } from '../launch.ts'
import { NotOffered } from '../errors.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'
import { imageParts, tellApps, tellHistory, tellLaunched, tellStats } from '../tell-session.ts'
import { tellSlots } from '../amounts.ts'

const Owned = z.object({ owner_access_key: z.string().max(64).optional() })
const Removal = Owned.extend({ forced: Flag.default(false) })

/** Time between two looks at a session that a client waits for: short at first, because most starts are. */
const LOOK_MS = { first: 150, most: 1_500 }
/** Longest wait for a launch without a limit of the client; proxies on the way would not wait longer either. */
const MOST_WAIT_SECONDS = 600
/** A restart waits this long for the end of the session. */
const END_WAIT_SECONDS = 60
const LOG_LINES = 10_000

/** Sessions: launch, show, end, log. */
export const SESSION_ROUTES: readonly CompatRoute[] = [
  { method: 'POST', path: '/session', handle: launch },
  { method: 'POST', path: '/session/_/create', handle: launch },
  { method: 'GET', path: '/session/_/match', handle: match },
  { method: 'GET', path: '/session/_/logs', handle: taskLogs },
  { method: 'GET', path: '/session/:session', handle: show },
  { method: 'PATCH', path: '/session/:session', handle: restart },
  { method: 'DELETE', path: '/session/:session', handle: end },
  { method: 'GET', path: '/session/:session/logs', handle: logs },
  { method: 'GET', path: '/session/:session/status-history', handle: history },
  { method: 'GET', path: '/session/:session/direct-access-info', handle: apps },
  { method: 'GET', path: '/stream/session/:session/apps', handle: apps },
  { method: 'GET', path: '/stream/kernel/:session/apps', handle: apps },
  { method: 'POST', path: '/session/:session/commit', handle: commit },
  {
    method: 'POST',
    path: '/session/:session/rename',
    handle: () =>
      Promise.reject(new NotOffered('Berth does not rename sessions: tags and a note can be changed on the page.')),
  },
]

/** @throws AppError `session_not_found` */
async function found({ api, params, request }: CompatContext): Promise<Session> {
  const { owner_access_key: key } = await readInput(request, Owned)
  return findSession(api, params.session ?? '', key)
}

async function launch({ api, request, reply, signal }: CompatContext): Promise<unknown> {
  const input = await readInput(request, LaunchInput)
  const wantsReuse = input.reuseIfExists ?? input.reuse ?? true
  const name = input.name ?? input.clientSessionToken
  const spec = await toSessionSpec(api, input)
  let created = true
  let session = wantsReuse && name !== undefined ? await liveByName(api, name, input.owner_access_key) : undefined
  if (session) created = false
  else {
    const { items } = await api.createSession({ body: spec })
    session = items[0]
    if (!session) throw new AppError('internal')
  }
  void reply.code(created ? 201 : 200)
  if (input.enqueueOnly ?? input.enqueue_only) return tellLaunched(session, session.status, created)
  const seconds = input.maxWaitSeconds ?? input.max_wait_seconds ?? 0
  // Nothing is sent while the client waits, which the server would take for a connection that is stuck.
  request.raw.socket.setTimeout((MOST_WAIT_SECONDS + 60) * 1000)
  const after = await waitFor(api, session, ({ status }) => status === 'RUNNING' || isFinished(status), {
    seconds: seconds === 0 ? MOST_WAIT_SECONDS : Math.min(seconds, MOST_WAIT_SECONDS),
    signal,
  })
  if (after.status === 'RUNNING' || after.result === 'success') return tellLaunched(after, 'RUNNING', created)
  if (!isFinished(after.status)) return tellLaunched(after, 'TIMEOUT', created)
  void reply.code(502)
  throw new AppError('kernel_create_failed', { why: `${after.name} has ended: ${after.reason.message}` })
}

async function liveByName(api: ApiClient, name: string, key: string | undefined): Promise<Session | undefined> {
  try {
    const session = await findSession(api, name, key)
    return isFinished(session.status) ? undefined : session
  } catch (error) {
    if (isAppError(error) && error.code === 'session_not_found') return undefined
    throw error
  }
}

/** Looks at a session until it is as wanted, or the time is over. @throws the signal's reason if the client leaves */
async function waitFor(
  api: ApiClient,
  session: Session,
  isWanted: (session: Session) => boolean,
  { seconds, signal }: { seconds: number; signal: AbortSignal },
): Promise<Session> {
  const until = performance.now() + seconds * 1000
  let now = session
  for (let ms = LOOK_MS.first; !isWanted(now) && performance.now() < until; ms = Math.min(ms * 1.5, LOOK_MS.most)) {
    await pause(ms, undefined, { signal })
    now = await api.getSession({ params: { id: session.id } })
  }
  return now
}

async function end(context: CompatContext): Promise<unknown> {
  const { api } = context
  const { forced, owner_access_key: key } = await readInput(context.request, Removal)
  const { id } = await findSession(api, context.params.session ?? '', key)
  try {
    await api.deleteSession({ params: { id }, query: forced ? { force: 'true' } : {} })
  } catch (error) {
    // Only admins end sessions by force in Berth; everybody else ends them as usual, for which programs get a few seconds.
    if (!forced || !isAppError(error) || error.code !== 'forbidden') throw error
    await api.deleteSession({ params: { id } })
  }
  return { stats: {} }
}

async function logs(context: CompatContext): Promise<unknown> {
  const { id } = await found(context)
  const { text } = await context.api.getSessionLogs({ params: { id }, query: { tail: LOG_LINES } })
  return { result: { logs: text } }
}

async function taskLogs({ api, request, reply }: CompatContext): Promise<unknown> {
  const Task = z.object({ taskId: z.string().max(64).optional(), session_name: z.string().max(64).optional() })
  const { taskId, session_name } = await readInput(request, Task)
  const { id } = await findSession(api, taskId ?? session_name ?? '')
  const { text } = await api.getSessionLogs({ params: { id }, query: { tail: LOG_LINES } })
  await reply.type('text/plain; charset=utf-8').send(text)
  return undefined
}

async function show(context: CompatContext): Promise<unknown> {
  const session = await found(context)
  const { registry, tag } = imageParts(session.image)
  return {
    domainName: session.domain,
    groupId: session.group?.id ?? null,
    userId: session.ownerId,
    lang: session.image,
    image: session.image,
    registry,
    tag: session.tags[0] ?? tag,
    containerId: session.kernels[0]?.containerId ?? null,
    occupiedSlots: JSON.stringify(tellSlots(session.requested)),
    occupiedShares: '{}',
    environ: JSON.stringify([]),
    status: session.status,
    statusInfo: session.reason.message,
    statusData: null,
    age: session.startedAt === null ? 0 : context.now() - Date.parse(session.startedAt),
    creationTime: session.createdAt,
    terminationTime: session.endedAt,
    numQueriesExecuted: 0,
    lastStat: tellStats(session),
    idleChecks: {},
  }
}

async function match({ api, request }: CompatContext): Promise<unknown> {
  const { id } = await readInput(request, z.object({ id: z.string().max(64).default('') }))
  const { items } = await api.listSessions({ query: { mine: 'true', status: 'live', search: id, limit: 100 } })
  const matches = items.filter(session => session.name.startsWith(id) || session.id.startsWith(id))
  return { matches: matches.map(session => ({ id: session.id, name: session.name, status: session.status })) }
}

/** Ends the session, and starts it again with its settings and files. Berth gives it another id; its name stays. */
async function restart(context: CompatContext): Promise<undefined> {
  const { api, signal } = context
  const { id, status, name } = await found(context)
  if (!isFinished(status)) {
    const ending = await api.deleteSession({ params: { id }, query: { why: 'It is started again.' } })
    const ended = await waitFor(api, ending, now => isFinished(now.status), { seconds: END_WAIT_SECONDS, signal })
    if (!isFinished(ended.status))
      throw new AppError('session_live', { why: `${name} does not end. Try again in a minute.` })
  }
  const again = await api.restartSession({ params: { id } })
  await waitFor(api, again, now => now.status === 'RUNNING' || isFinished(now.status), {
    seconds: END_WAIT_SECONDS,
    signal,
  })
  return undefined
}

async function history(context: CompatContext): Promise<unknown> {
  const session = await found(context)
  const { items } = await context.api.listSessionEvents({ params: { id: session.id }, query: { limit: 500 } })
  return { result: tellHistory(session, items) }
}

async function apps(context: CompatContext): Promise<unknown> {
  return tellApps(await found(context))
}

/** Makes an image of the session, or asks a superadmin for it, as the settings say. */
async function commit(context: CompatContext): Promise<unknown> {
  const Input = Owned.extend({ filename: z.string().max(200).optional() })
  const { filename } = await readInput(context.request, Input)
  const session = await found(context)
  const name =
    (filename ?? session.name)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'session'
  const tag = new Date(context.now())
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, '')
    .toLowerCase()
  const owner = { id: session.ownerId, email: session.ownerEmail }
  const reference = `${sessionImagePrefix(owner)}${name.slice(0, 100)}:${tag}`
  await context.api.saveSession({ params: { id: session.id }, body: { reference } })
  return { status: 'ongoing', kernel: session.kernels[0]?.id ?? session.id, image: reference, bgtask_id: null }
}
