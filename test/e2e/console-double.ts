import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { type HostInfo, type HostSettings } from '#proxy/contract'
import {
  AppError,
  type ErrorCode,
  type Image,
  isFinished,
  NO_ANNOUNCEMENT,
  type PublishSpec,
  type Session,
  type SessionSpec,
  toProblem,
  type WhatIf,
} from '#manager/contract'
import { silentLog } from '../../proxy/log.ts'
import { refusedQuery } from '../fixtures/contract-query.ts'
import { createStaticFiles } from '../../proxy/web/static-files.ts'
import { OWNER } from './console-world.ts'
import { answerPublished, publish } from './console-double-published.ts'
import { answerSession } from './console-double-session.ts'
import { answerAdmin } from './console-double-admin.ts'
import { answerAccount, newsPage } from './console-double-account.ts'
import { answerFiles, sendFileReply } from './console-double-files.ts'
import { answerFolders, FOLDER_KIT } from './console-double-folders.ts'
import { answerLaunch } from './console-double-launch.ts'
import { type World } from './console-double-world.ts'

/** Sends the same files like the real service of the console: compressed, with its headers. */
const sendFile = createStaticFiles(new URL('../../dist/renderer/', import.meta.url).pathname, silentLog)

export interface ConsoleDouble extends AsyncDisposable {
  readonly url: string
  readonly world: World
  /** Sends an event to every open stream, and to those that reconnect later. */
  emit(event: string, data: unknown): void
  streams(): number
  /** Bearer tokens that requests came with. */
  tokens(): string[]
  /** Session ids whose statistics the newest stream requests. */
  watching(): string[]
  /** Breaks every open stream. */
  drop(): void
  /** Continues as a new stand-in with another world, at the same address. */
  reset(world: World): void
}

/** Same as in the manager. */
const PING_MS = 15_000

/**
 * The built console page with a double of the manager behind it, for states that are hard to produce with the real one: 10,000
 * rows, failed requests, a pull that stands still, GPUs on a machine that has none.
 */
export async function startConsoleDouble(first: World): Promise<ConsoleDouble> {
  let world = first
  const streams = new Set<ServerResponse>()
  const sent: string[] = []
  const tokens = new Set<string>()
  let watching: string[] = []
  const ping = () => `id: 1.${sent.length}\nevent: ping\ndata: {}\n\n`
  // Without it, the page would consider the stream dead, and open another one.
  const pings = setInterval(() => streams.forEach(stream => stream.write(ping())), PING_MS)

  const drop = () => {
    for (const stream of streams) stream.destroy()
    streams.clear()
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://double')
    const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
    if (token !== undefined) tokens.add(token)
    if (url.pathname === '/healthz') {
      send(response, 200, {})
      return
    }
    if (!url.pathname.startsWith('/api/') && !url.pathname.startsWith('/host/')) {
      await sendFile(request, response)
      return
    }
    if (url.pathname === '/api/v1/events' || url.pathname === '/host/events') {
      if (!world.signedIn) {
        sendError(response, 'not_signed_in')
        return
      }
      if (world.refuseStreams) {
        sendError(response, 'unavailable')
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
      if (url.pathname === '/api/v1/events') {
        const position = Number(String(request.headers['last-event-id'] ?? `1.${sent.length}`).split('.')[1])
        sent.slice(position).forEach(frame => response.write(frame))
        response.write(ping())
        streams.add(response)
        watching = (url.searchParams.get('watch') ?? '').split(',').filter(Boolean)
        response.on('close', () => streams.delete(response))
      }
      return
    }
    const raw = await readRaw(request)
    const refused = refusedQuery(request.method ?? '', url)
    if (refused) {
      sendError(response, refused.code, refused.detail)
      return
    }
    const route = `${request.method ?? ''} ${url.pathname}`
    if (answeredFiles(route, request, url, raw, response)) return
    const body = raw.length === 0 ? undefined : (JSON.parse(raw.toString()) as unknown)
    // Host methods are all POST, whether they change something or not.
    const isAsking =
      request.method === 'GET' || /\/(what-if|me\/visit)$/.test(route) || url.pathname.startsWith('/host/')
    if (!isAsking) world.changes.push({ request: route, body, ...(url.search === '' ? {} : { query: url.search }) })
    if (world.hold?.includes(route)) return
    if (world.holdLists && route === 'GET /api/v1/sessions') return
    const failure = world.failures.get(route)
    if (failure) {
      sendError(response, failure.code, failure.detail)
      return
    }
    const reply = world.replies?.[route]
    if (reply) {
      send(response, reply.status, reply.value)
      return
    }
    const isAuth = url.pathname.startsWith('/api/v1/auth/')
    if (!isAuth && !world.signedIn) sendError(response, 'not_signed_in')
    else answer(world, route, url, body, response)
  }

  /** Answers a call about files, whose bodies may be bytes. @returns whether it was one */
  function answeredFiles(
    route: string,
    request: IncomingMessage,
    url: URL,
    raw: Buffer,
    response: ServerResponse,
  ): boolean {
    const { files, failures } = world
    if (!files || !world.signedIn) return false
    const failure = failures.get(route)
    if (failure) return false
    try {
      const reply = answerFiles(files, request, url, raw)
      if (!reply) return false
      if (request.method !== 'GET') world.changes.push({ request: route, body: raw.toString() })
      sendFileReply(response, reply)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      sendError(response, error.code, error.detail)
    }
    return true
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      console.error(error)
      response.destroy()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    get world() {
      return world
    },
    emit(event, data) {
      const frame = `id: 1.${sent.length + 1}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
      sent.push(frame)
      for (const stream of streams) stream.write(frame)
    },
    streams: () => streams.size,
    tokens: () => [...tokens],
    watching: () => watching,
    drop,
    reset(next) {
      drop()
      world = next
      sent.length = 0
      tokens.clear()
      watching = []
    },
    async [Symbol.asyncDispose]() {
      clearInterval(pings)
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

function answer(world: World, route: string, url: URL, body: unknown, response: ServerResponse): void {
  const id = /^\w+ \/api\/v1\/sessions\/([0-9a-f-]{36})/.exec(route)?.[1]
  const session = world.sessions.find(candidate => candidate.id === id)
  if (session && route.endsWith('/published')) {
    send(response, 201, publish(world, session, route, body as PublishSpec))
    return
  }
  if (id && !session) {
    sendError(response, 'session_not_found')
    return
  }
  if (session && route.endsWith('/events')) {
    const at = session.createdAt
    const event = { id: 1, at, kernelId: null, from: null, to: 'PENDING', actor: session.ownerEmail }
    send(response, 200, {
      items: [{ ...event, reason: { code: 'requested', message: 'Asked for' } }],
      nextCursor: null,
    })
    return
  }
  const aboutSession = session && answerSession(world, session, route, body, url.search)
  if (aboutSession) {
    if ('error' in aboutSession) sendError(response, aboutSession.error, aboutSession.detail)
    else send(response, aboutSession.status, aboutSession.value)
    return
  }
  if (session && route.endsWith('/stats')) {
    send(response, 200, world.figures?.(url) ?? { step: 60, items: [] })
    return
  }
  if (session && route.startsWith('GET')) {
    send(response, 200, session)
    return
  }
  if (session && route.endsWith('/restart')) {
    const made = askedFor(world, session, {})
    world.sessions.unshift(made)
    send(response, 201, made)
    return
  }
  if (session && route.startsWith('DELETE')) {
    session.status = 'TERMINATING'
    session.reason = { code: 'user_terminated', message: 'Terminated by its owner' }
    session.version += 1
    send(response, 202, session)
    return
  }
  const aboutFolders = answerFolders(world, route, url, body)
  if (aboutFolders) {
    if ('error' in aboutFolders) sendError(response, aboutFolders.error, aboutFolders.detail)
    else send(response, aboutFolders.status, aboutFolders.value)
    return
  }
  const administration = answerAdmin(world, route, url, body)
  if (administration) {
    send(response, administration.status, administration.value)
    return
  }
  const account = answerAccount(world, route, body)
  if (account) {
    if ('error' in account) sendError(response, account.error)
    else send(response, account.status, account.value)
    return
  }
  const launching = answerLaunch(world, route, url, body)
  if (launching) {
    send(response, launching.status, launching.value)
    return
  }
  const invitation = /^POST \/api\/v1\/folder-invitations\/([0-9a-f-]{36})\/decline$/.exec(route)?.[1]
  if (invitation) {
    world.invitations = (world.invitations ?? []).filter(({ id }) => id !== invitation)
    send(response, 204, undefined)
    return
  }
  const published = answerPublished(world, route)
  if (published) {
    send(response, published.status, published.value)
    return
  }
  switch (route) {
    case 'GET /api/v1/resources':
      send(response, 200, world.resourcesOf?.[url.searchParams.get('resourceGroup') ?? ''] ?? world.resources)
      return
    case 'GET /api/v1/announcement':
      send(response, 200, world.announcement ?? NO_ANNOUNCEMENT)
      return
    case 'POST /api/v1/announcement/dismiss':
      world.announcement = { ...(world.announcement ?? NO_ANNOUNCEMENT), dismissed: true }
      send(response, 204, undefined)
      return
    case 'POST /api/v1/me/visit':
      send(response, 200, { since: world.visitSince ?? null })
      return
    case 'GET /api/v1/me/messages':
      send(response, 200, { items: world.messages ?? [] })
      return
    case 'GET /api/v1/me/account-news':
      send(response, 200, newsPage(world.accountNews ?? [], url.searchParams))
      return
    case 'GET /api/v1/folder-invitations':
      send(response, 200, { items: world.invitations ?? [] })
      return
    case 'GET /api/v1/usage/history':
      world.asked = url.search
      send(response, 200, { items: world.history ?? [] })
      return
    case 'GET /api/v1/usage':
      send(response, 200, { items: world.usage ?? [] })
      return
    case 'GET /api/v1/presets':
      send(response, 200, { items: world.presets ?? [] })
      return
    case 'GET /api/v1/resource-groups':
      send(response, 200, { items: world.resourceGroups ?? [] })
      return
    case 'GET /api/v1/images': {
      const on = url.searchParams.get('agent')
      const has = ({ agentIds = [] }: Image) => on === null || agentIds.some(id => id === on)
      const items = world.images.filter(has)
      send(response, 200, { items, nextCursor: null, total: items.length })
      return
    }
    case 'GET /api/v1/sessions':
      send(response, 200, pageOf(world, url))
      return
    case 'POST /api/v1/sessions/what-if': {
      const now: WhatIf = { startsNow: true, reason: null, smaller: [], notices: [] }
      send(response, 200, world.whatIf?.(body as SessionSpec) ?? now)
      return
    }
    case 'POST /api/v1/sessions': {
      const { name, image } = body as { name?: string; image: string }
      const [like] = world.sessions
      if (!like) throw new Error('the double needs one session to copy')
      const made = askedFor(world, like, { name: name ?? 'brisk-harbour', image })
      world.sessions.unshift(made)
      send(response, 201, { items: [made], notices: [] })
      return
    }
    case 'POST /host/host/info':
      send(response, 200, { ok: true, value: hostInfoOf(world) })
      return
    case 'POST /host/host/settings':
      send(response, 200, { ok: true, value: world.hostSettings ?? { preferredSshPort: null, manageSshConfig: true } })
      return
    case 'POST /host/host/saveSettings': {
      const [settings] = body as [HostSettings]
      world.hostSettings = settings
      send(response, 200, { ok: true, value: settings })
      return
    }
    case 'POST /host/sftp/open':
      send(response, 200, { ok: true, value: FOLDER_KIT })
      return
    case 'POST /host/tunnel/open': {
      const [{ app }] = body as [{ app: string }]
      const tunnel = world.tunnels?.find(each => each.app.name === app)
      if (tunnel) send(response, 200, { ok: true, value: tunnel })
      else sendError(response, 'not_found')
      return
    }
    case 'POST /host/tunnel/list':
      send(response, 200, { ok: true, value: world.tunnels ?? [] })
      return
    case 'POST /host/sftp/state':
      send(response, 200, { ok: true, value: world.folderPort ?? null })
      return
    default:
      sendError(response, 'not_found')
  }
}

function hostInfoOf({ role, proxyFaults }: World): HostInfo {
  const info: HostInfo = { kind: 'local', version: '0.1.0', platform: 'linux' }
  return role === 'superadmin' && proxyFaults ? { ...info, proxyFaults } : info
}

/** A new waiting session. */
function askedFor(world: World, like: Session, change: Partial<Session>): Session {
  return {
    ...like,
    id: `0199ffff-0000-7000-8000-${String(world.sessions.length).padStart(12, '0')}` as Session['id'],
    status: 'PENDING',
    reason: { code: 'requested', message: 'Asked for' },
    stats: null,
    pull: null,
    startedAt: null,
    endedAt: null,
    createdAt: new Date().toISOString(),
    version: 1,
    ...change,
  }
}

function hasStatus({ status, result }: Session, wanted: string | null): boolean {
  if (wanted === null) return true
  if (wanted === 'failed') return status === 'ERROR' || (status === 'TERMINATED' && result === 'failure')
  if (wanted === 'live' || wanted === 'finished') return isFinished(status) === (wanted === 'finished')
  return wanted.split(',').includes(status)
}

function pageOf(world: World, url: URL) {
  const status = url.searchParams.get('status')
  const limit = Number(url.searchParams.get('limit') ?? 100)
  const start = Number(url.searchParams.get('cursor') ?? 0)
  const named = url.searchParams.get('ids')
  if (named !== null) {
    const ids = new Set(named.split(','))
    const items = world.sessions.filter(({ id }) => ids.has(id))
    return { items, nextCursor: null, total: items.length }
  }
  const isMine = ({ ownerId }: Session) => url.searchParams.get('mine') !== 'true' || ownerId === OWNER
  const search = url.searchParams.get('search') ?? ''
  const isFound = ({ name, image }: Session) => `${name} ${image}`.includes(search)
  const found = world.sessions.filter(each => hasStatus(each, status) && isMine(each) && isFound(each))
  const all = found.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  const next = start + limit
  return { items: all.slice(start, next), nextCursor: next < all.length ? String(next) : null, total: all.length }
}

function send(response: ServerResponse, status: number, value: unknown): void {
  if (value === undefined) response.writeHead(status).end()
  else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function sendError(response: ServerResponse, code: ErrorCode, detail: Record<string, unknown> = {}): void {
  const problem = toProblem(new AppError(code, detail))
  response.writeHead(problem.status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
}

async function readRaw(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
