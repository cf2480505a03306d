import { createHash } from 'node:crypto'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { AppError, because, CONSOLE_SECRET_HEADER, createClient, SessionId } from '#manager/contract'
import { type DirectPath } from '../../dial/direct-path.ts'
import { createTransport } from '../../local/transport.ts'
import { type Log } from '../../log.ts'
import { fetchByEnvironment } from '../../network/environment-network.ts'
import { answerProblem, answerProblemRaw } from '../answers.ts'
import { type Client, clientOf } from '../client.ts'
import { createQuestions } from '../questions.ts'
import { createTurnstile } from '../turnstile.ts'
import { type ProgramRequest, readProgramRequest } from './program-request.ts'
import { createProgramRoute, type ProgramRoute } from './program-route.ts'

export interface ProgramAppsDeps {
  readonly managerUrl: string
  /** Proves to the manager that the addresses of clients are true. */
  readonly consoleSecret?: string | undefined
  readonly trustedProxies?: readonly string[] | undefined
  readonly direct?: DirectPath | undefined
  readonly log: Log
  readonly now?: () => number
}

/** Web apps of sessions for programs, at `/apps/SESSION/APP/…` of the console (ADR 105). */
export interface ProgramApps extends Disposable {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

interface Entry {
  readonly route: ProgramRoute
  readonly token: string
  lastUsed: number
}

/** A route that nothing has used for this long is forgotten: its renewals would count as a use of the token. */
const IDLE_MS = 10 * 60_000
const SWEEP_MS = 60_000
/** Apps of one token at a time. */
const MOST_OF_TOKEN = 64
/** Questions to the manager about tokens that are not known here. An app that starts may take a minute of them. */
const STRANGE = { atOnce: 32, waiting: 256 }
/** Open requests and sockets of all programs together. */
const MOST_OPEN = 4_096

/**
 * Threat model: these paths are on the origin of the console, and apps are hostile: a page of an app shown there could act as the console.
 * So a request counts only with an access token in a header, which no page of another origin and no navigation can send; requests that
 * browsers mark as theirs are refused, and answers carry a policy that lets no script run and say nothing for other origins or the whole
 * host. The app never gets the token. Whether the token may reach the app, the manager decides when the grant is made; it cuts the tunnels
 * and refuses the grant when token, account, right or session end. Strangers can invent tokens: few questions about them are asked at a time,
 * and of too many open requests the network that has most loses one.
 */
export function createProgramApps(deps: ProgramAppsDeps): ProgramApps {
  const { managerUrl, consoleSecret, trustedProxies = [], log, now = () => performance.now() } = deps
  const transport = createTransport(managerUrl, deps.direct)
  const entries = new Map<string, Promise<Entry>>()
  const known = new Map<string, Entry>()
  const strange = createQuestions(STRANGE)
  const open = createTurnstile<ServerResponse | Duplex>({
    most: MOST_OPEN,
    bytesOf: one => {
      const socket = 'socket' in one ? one.socket : one
      return socket instanceof Socket ? socket.bytesRead + socket.bytesWritten : 0
    },
  })
  const clientFor = (request: IncomingMessage) => clientOf(request, trustedProxies)
  const sweep = setInterval(closeIdle, SWEEP_MS)
  sweep.unref()

  function closeIdle(): void {
    for (const [key, { route, lastUsed }] of known)
      if (route.used === 0 && now() - lastUsed > IDLE_MS) forget(key, route)
  }

  function forget(key: string, route: ProgramRoute): void {
    if (known.get(key)?.route === route) {
      known.delete(key)
      entries.delete(key)
    }
    route[Symbol.dispose]()
  }

  async function enter({ sessionId, app, token }: ProgramRequest, client: Client, key: string): Promise<Entry> {
    const owner = hashOf(token)
    if ([...known.values()].filter(entry => entry.token === owner).length >= MOST_OF_TOKEN)
      throw new AppError('rate_limited', because('calls_of_person', { limit: MOST_OF_TOKEN }))
    const route: ProgramRoute = createProgramRoute({
      api: apiWith(token, client),
      ...{ sessionId: SessionId.parse(sessionId), app, token, transport, log },
      clientOf: clientFor,
      onEnded: () => forget(key, route),
    })
    try {
      await strange.ask(client.address, () => route.open())
    } catch (error) {
      forget(key, route)
      throw error
    }
    const entry = { route, token: owner, lastUsed: now() }
    known.set(key, entry)
    return entry
  }

  function apiWith(token: string, { address, scheme }: Client) {
    const proof = consoleSecret === undefined ? {} : { [CONSOLE_SECRET_HEADER]: consoleSecret }
    return createClient({
      baseUrl: managerUrl,
      fetch: (url, init) => fetchByEnvironment(url, init as RequestInit),
      headers: () => ({
        ...{ authorization: `Bearer ${token}`, ...proof },
        ...{ 'x-forwarded-for': address, 'x-forwarded-proto': scheme },
      }),
    })
  }

  async function routeFor(request: IncomingMessage): Promise<ProgramRoute> {
    const asked = readProgramRequest(request)
    const key = hashOf(`${asked.token} ${asked.sessionId.toLowerCase()} ${asked.app}`)
    let entry = entries.get(key)
    if (!entry) {
      entry = enter(asked, clientFor(request), key)
      entries.set(key, entry)
      entry.catch(() => entries.delete(key))
    }
    const found = await entry
    found.lastUsed = now()
    request.url = asked.target
    return found.route
  }

  return {
    async request(request, response) {
      open.enter(clientFor(request).address, response)
      try {
        const route = await routeFor(request)
        if (!response.destroyed) route.request(request, response)
      } catch (error) {
        request.resume()
        if (!response.headersSent) response.setHeader('www-authenticate', 'Bearer realm="Berth"')
        answerProblem(response, error)
      }
    },
    async upgrade(request, socket, head) {
      open.enter(clientFor(request).address, socket)
      try {
        const route = await routeFor(request)
        if (!socket.destroyed) route.upgrade(request, socket, head)
      } catch (error) {
        answerProblemRaw(socket, error)
      }
    },
    [Symbol.dispose]() {
      clearInterval(sweep)
      for (const [key, { route }] of known) forget(key, route)
    },
  }
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')
