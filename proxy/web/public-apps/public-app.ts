import { type IncomingMessage, type ServerResponse } from 'node:http'
import { BlockList, isIPv6 } from 'node:net'
import { type Duplex } from 'node:stream'
import {
  type ApiClient,
  type AppsAddress,
  authorityOf,
  type Grant,
  isAppError,
  type ServedApp,
} from '#manager/contract'
import { injectionOf } from '../../grants/injection.ts'
import { createPath } from '../../grants/path.ts'
import { answerHeaders } from '../../http-origins/app-origin.ts'
import { createAppForward } from '../../http-origins/app-forward.ts'
import { answerRaw } from '../../http/raw-answer.ts'
import { type Transport } from '../../local/transport.ts'
import { type Log } from '../../log.ts'
import { plainAddress } from '../client.ts'
import { languageOf } from '../../http-origins/page-language.ts'
import { answerAtDoor, type DoorDeps } from './door.ts'
import { admitVisitor, type PublicDoor } from './public-gate.ts'
import { publicFailure, type PublicPage, publicRefusal } from './public-pages.ts'
import { publicAnswer, visitorHeaders } from './visitor-headers.ts'

export interface PublicAppDeps {
  readonly served: ServedApp
  readonly place: string
  readonly address: AppsAddress
  readonly api: Pick<ApiClient, 'grantServedApp' | 'renewGrant' | 'visitServedApp'>
  readonly transport: Transport
  /** Address of the client of a request. */
  readonly addressOf: (request: IncomingMessage) => string
  /** The link has ended; nothing reaches the app any more. */
  readonly onEnded: () => void
  readonly log: Log
}

/** Serves one published app to its visitors. */
export interface PublicApp extends Disposable {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

/** Upgrades and requests of one app at a time: strangers must not use up the connections of everybody. */
const MOST_AT_ONCE = 512

export function createPublicApp(deps: PublicAppDeps): PublicApp {
  const { served, address, api, transport, log } = deps
  const { scheme } = address
  const allowed = allowedAddresses(served.addresses)
  let inject: Grant['inject'] = null
  let inFlight = 0

  const path = createPath({
    api: {
      createGrant: async (input = { params: { id: served.sessionId, app: served.app } }) =>
        api.grantServedApp({ params: { place: deps.place }, ...(input.signal ? { signal: input.signal } : {}) }),
      renewGrant: api.renewGrant,
    },
    sessionId: served.sessionId,
    app: served.app,
    dial: (grant, signal) => transport.dial(grant, signal),
    onChange: state => {
      if (state === 'ended') deps.onEnded()
    },
  })
  const forward = createAppForward({
    connect: async signal => {
      const stream = transport.stream(await path.connect(signal))
      stream.on('error', error => {
        if (isAppError(error)) path.judge(error)
      })
      return stream
    },
    requestHeaders: (request, raw) => visitorHeaders(raw, { inject, address: deps.addressOf(request), scheme }),
    answerHeaders: (request, raw) => publicAnswer(answerHeaders(raw, request.url ?? '')),
    failurePage: publicFailure,
    log,
  })

  const door = (): PublicDoor => ({
    authority: authorityOf(address, served),
    scheme,
    id: served.id,
    name: served.name,
    visitSecret: served.visitSecret,
    nowMs: Date.now(),
  })

  function admit(request: IncomingMessage) {
    const from = deps.addressOf(request)
    const visit = {
      method: request.method ?? '',
      target: request.url ?? '',
      host: soleValue(request, 'host'),
      origin: soleValue(request, 'origin'),
      cookie: request.headers.cookie,
      fetchSite: soleValue(request, 'sec-fetch-site'),
      fetchMode: soleValue(request, 'sec-fetch-mode'),
      isWorkerScript: request.headers['service-worker'] !== undefined,
      isAllowedAddress: allowed(from),
    }
    return admitVisitor(visit, door())
  }

  /** Before any request goes on: without the grant, the app's secret would be missing, and a visitor's own claim in its place. */
  async function learnSecret(): Promise<void> {
    try {
      inject = injectionOf(await path.grant())
    } catch (error) {
      path.judge(error)
      throw error
    }
  }

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await learnSecret()
    } catch (error) {
      forward.fail(response, error)
      return
    }
    if (!response.destroyed) forward.request(request, response)
  }

  /** @returns false if too many requests are in flight */
  function enter(connection: { once(event: 'close', listener: () => void): unknown }): boolean {
    if (inFlight >= MOST_AT_ONCE) return false
    inFlight++
    connection.once('close', () => inFlight--)
    return true
  }

  return {
    async request(request, response) {
      const admission = admit(request)
      if (admission.kind === 'refuse') sendPage(response, publicRefusal(admission.reason))
      else if (!enter(response)) sendPage(response, publicRefusal('busy'))
      else if (admission.kind === 'pass') await pass(request, response)
      else {
        const atDoor: DoorDeps = { served, place: deps.place, api, door: door(), address: deps.addressOf(request) }
        sendPage(response, await answerAtDoor(request, atDoor))
      }
    },
    async upgrade(request, socket, head) {
      const admission = admit(request)
      const reason =
        admission.kind === 'refuse' ? admission.reason : admission.kind === 'door' ? 'wrong_host' : undefined
      if (reason !== undefined || !enter(socket)) {
        refuseRaw(socket, publicRefusal(reason ?? 'busy'))
        return
      }
      try {
        await learnSecret()
      } catch (error) {
        forward.failUpgrade(socket, error)
        return
      }
      if (!socket.destroyed) forward.upgrade(request, socket, head)
    },
    [Symbol.dispose]() {
      path[Symbol.dispose]()
      forward.close()
    },
  }
}

export function sendPage(response: ServerResponse, { status, headers, body }: PublicPage): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(status, headers).end(body(languageOf(response)))
}

export function refuseRaw(socket: Duplex, { status, headers, body }: PublicPage): void {
  answerRaw(socket, { status, type: headers['content-type'] ?? 'text/html', body: body('en') })
}

/** Node keeps the first of repeated fields, and the app might take another one. */
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
