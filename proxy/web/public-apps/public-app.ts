import { type IncomingMessage, type ServerResponse } from 'node:http'
import { BlockList, isIPv6, Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { type ApiClient, AppError, type AppsAddress, authorityOf, type ServedApp } from '#manager/contract'
import { type AppFailure } from '../../http-origins/app-forward.ts'
import { languageOf } from '../../http-origins/page-language.ts'
import { failurePage } from '../../http-origins/pages.ts'
import { MOST_CONNECTIONS } from '../../http/connections.ts'
import { answerRaw } from '../../http/raw-answer.ts'
import { type Transport } from '../../local/transport.ts'
import { type Log } from '../../log.ts'
import { plainAddress } from '../client.ts'
import { type Closing, createTurnstile } from '../turnstile.ts'
import { type AppRoute, createAppRoute } from './app-route.ts'
import { answerAtDoor } from './door.ts'
import { admitVisitor, type PublicAdmission, type PublicDoor } from './public-gate.ts'
import { publicFailure, type PublicPage, publicRefusal } from './public-pages.ts'
import { answerTicket } from './ticket-door.ts'

export interface PublicAppDeps {
  readonly served: ServedApp
  readonly place: string
  readonly address: AppsAddress
  readonly api: Pick<
    ApiClient,
    | 'getServedApp'
    | 'grantServedApp'
    | 'grantOwnApp'
    | 'renewGrant'
    | 'visitServedApp'
    | 'redeemAppTicket'
    | 'listEndedLinks'
  >
  readonly transport: Transport
  /** Address of the client of a request. */
  readonly addressOf: (request: IncomingMessage) => string
  /** Called when the link has ended; nothing reaches the app any more. */
  readonly onEnded: () => void
  readonly log: Log
}

/** Serves one app to its visitors: everybody with the link of a published app, or one person's browsers. */
export interface PublicApp extends Disposable {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  /** Gives up grants that nobody has used for this long: their renewal would keep a sign-in from ending. */
  closeIdle(idleMs: number): void
  /** Whether a request or a socket is open. */
  isUsed(): boolean
}

/** A visitor's route to the app, with its use. */
interface Way {
  readonly route: AppRoute
  /** Open requests and sockets. */
  open: number
  lastUsed: number
}

type Refusal = Extract<PublicAdmission, { kind: 'refuse' }>['reason']

/**
 * Limit of open upgrades, and of requests, of one app: its visitors must not use up the connections of everybody. It equals the number of
 * connections to the app.
 */
const MOST_INSIDE = MOST_CONNECTIONS
/** Limits at the entry: senders may take as long as they like over a form, up to a deadline. */
const MOST_AT_DOOR = { most: 512, mostOfOne: 16 }

/**
 * Threat model: anybody may hold connections at the entry without a key or a ticket, and a visitor may open ever more sockets and read no
 * answer. So requests at the entry, requests inside and sockets are limited separately, each by origin: the network that has most is cut
 * first.
 */
export function createPublicApp(deps: PublicAppDeps): PublicApp {
  const { served, address, api, log } = deps
  const { scheme } = address
  const allowed = allowedAddresses(served.addresses)
  const isOwn = served.admits === 'tickets'
  /** Routes to the app by visitor: one for all who come with the link, one for each sign-in of the person whose app it is. */
  const routes = new Map<string, Way>()
  const requests = createTurnstile<ServerResponse>({ most: MOST_INSIDE, bytesOf: ({ socket }) => bytesOf(socket) })
  const sockets = createTurnstile<Duplex>({ most: MOST_INSIDE, bytesOf })
  const atDoor = createTurnstile(MOST_AT_DOOR)

  const door = (): PublicDoor => ({
    authority: authorityOf(address, served),
    scheme,
    id: served.id,
    name: served.name,
    visitSecret: served.visitSecret,
    nowMs: Date.now(),
  })

  function admit(request: IncomingMessage): PublicAdmission {
    const from = deps.addressOf(request)
    const visit = {
      method: request.method ?? '',
      target: request.url ?? '',
      host: soleValue(request, 'host'),
      origin: soleValue(request, 'origin'),
      cookie: request.headers.cookie,
      fetchSite: soleValue(request, 'sec-fetch-site'),
      fetchMode: soleValue(request, 'sec-fetch-mode'),
      fetchDest: soleValue(request, 'sec-fetch-dest'),
      isWorkerScript: request.headers['service-worker'] !== undefined,
      isAllowedAddress: allowed(from),
    }
    return admitVisitor(visit, door())
  }

  const refusal = (reason: Refusal) => publicRefusal(isOwn && reason === 'no_visit' ? 'not_open' : reason)

  function answerAt(request: IncomingMessage): Promise<PublicPage> {
    const at = { served, place: deps.place, api, door: door(), isShared: address.kind === 'ports' }
    return isOwn ? answerTicket(request, at) : answerAtDoor(request, { ...at, address: deps.addressOf(request) })
  }

  function routeOf(visitor: string, connection: Closing): AppRoute {
    const way = wayOf(visitor)
    way.open++
    connection.once('close', () => {
      way.open--
      way.lastUsed = performance.now()
    })
    return way.route
  }

  function wayOf(visitor: string): Way {
    const known = routes.get(visitor)
    if (known) return known
    const params = { place: deps.place }
    const route = createAppRoute({
      served,
      address,
      async createGrant(input) {
        const more = input.signal ? { signal: input.signal } : {}
        const asked = isOwn
          ? api.grantOwnApp({ params, body: { visitor }, ...more })
          : api.grantServedApp({ params, ...more })
        const grant = await asked
        // The grant is for the app that owns this address now. An address that went to another app never returns, so this is the right one.
        const { id } = await api.getServedApp({ params, ...more })
        if (id !== served.id) throw new AppError('published_app_not_found')
        return grant
      },
      api,
      transport: deps.transport,
      addressOf: deps.addressOf,
      failurePage: isOwn ? ownFailure : publicFailure,
      onEnded() {
        if (routes.get(visitor)?.route !== route) return
        close(visitor)
        if (!isOwn) deps.onEnded()
      },
      log,
    })
    const way = { route, open: 0, lastUsed: performance.now() }
    routes.set(visitor, way)
    return way
  }

  function close(visitor: string): void {
    routes.get(visitor)?.route[Symbol.dispose]()
    routes.delete(visitor)
  }

  function ownFailure(failure: AppFailure): string {
    if (failure.code === 'published_app_not_found') return publicRefusal('not_open').body(failure.language)
    return failurePage({ ...failure, app: served.title, session: served.sessionName })
  }

  return {
    async request(request, response) {
      const admission = admit(request)
      if (admission.kind === 'refuse') sendPage(response, refusal(admission.reason))
      else if (admission.kind === 'pass') {
        requests.enter(deps.addressOf(request), response, admission.visit)
        await routeOf(admission.visitor, response).request(request, response)
      } else {
        atDoor.enter(deps.addressOf(request), response)
        sendPage(response, await answerAt(request))
      }
    },
    async upgrade(request, socket, head) {
      const admission = admit(request)
      if (admission.kind !== 'pass') {
        refuseRaw(socket, refusal(admission.kind === 'refuse' ? admission.reason : 'wrong_host'))
        return
      }
      sockets.enter(deps.addressOf(request), socket, admission.visit)
      await routeOf(admission.visitor, socket).upgrade(request, socket, head)
    },
    closeIdle(idleMs) {
      for (const [visitor, { open, lastUsed }] of routes) {
        if (open === 0 && performance.now() - lastUsed > idleMs) close(visitor)
      }
    },
    isUsed: () => [...routes.values()].some(({ open }) => open > 0),
    [Symbol.dispose]() {
      for (const visitor of routes.keys()) close(visitor)
    },
  }
}

const bytesOf = (socket: Duplex | null) => (socket instanceof Socket ? socket.bytesRead + socket.bytesWritten : 0)

export function sendPage(response: ServerResponse, { status, headers, body }: PublicPage): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(status, headers).end(body(languageOf(response)))
}

export function refuseRaw(socket: Duplex, { status, headers, body }: PublicPage): void {
  answerRaw(socket, { status, type: headers['content-type'] ?? 'text/html', body: body('en') })
}

/** Node keeps the first of repeated fields, but the app might use another one. */
function soleValue(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name]
  return values?.length === 1 ? values[0] : values?.join(', ')
}

/** Whether an address is one of the given ones; all are if none is given. */
export function allowedAddresses(addresses: readonly string[]): (address: string) => boolean {
  if (addresses.length === 0) return () => true
  const list = new BlockList()
  for (const text of addresses) {
    const [net = '', bits] = text.split('/')
    const family = isIPv6(net) ? 'ipv6' : 'ipv4'
    list.addSubnet(net, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  return address => {
    const plain = plainAddress(address)
    return list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')
  }
}
