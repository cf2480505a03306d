import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Duplex } from 'node:stream'
import {
  APP_PLACE,
  type AppsAddress,
  CONSOLE_SECRET_HEADER,
  createClient,
  isAppError,
  PUBLIC_OPEN_PATH,
  type ServedApp,
} from '#manager/contract'
import { type DirectPath } from '../../dial/direct-path.ts'
import { createTransport } from '../../local/transport.ts'
import { type Log } from '../../log.ts'
import { clientOf } from '../client.ts'
import { createTurnstile } from '../turnstile.ts'
import { endedPage, mayHaveHeld } from './ended-page.ts'
import { createPublicApp, type PublicApp, refuseRaw, sendPage } from './public-app.ts'
import { type PublicPage, publicRefusal } from './public-pages.ts'
import { keyIn } from './read-form.ts'
import { READY_HEADER, READY_PATH } from './watch-address.ts'
import { fetchByEnvironment } from '../../network/environment-network.ts'

export interface PublicAppsDeps {
  readonly address: AppsAddress
  readonly managerUrl: string
  /** Proves to the manager that the console asks. */
  readonly consoleSecret: string
  readonly trustedProxies?: readonly string[] | undefined
  readonly direct?: DirectPath | undefined
  readonly log: Log
  readonly now?: () => number
}

/**
 * Serves apps of sessions at the address of apps, each on an origin of its own: those that users have opened to people without an account,
 * and those that people use themselves from other computers.
 *
 * Threat model: everybody may send requests. A request is for an app if its Host field (or the port of its listener) says so; it then
 * reaches that app and nothing else, neither the console nor the manager: this dispatch comes before both. We ask the manager which app
 * belongs to an address, with the secret that only this process shares with it, at most every few seconds per address. When a link ends,
 * the manager cuts the tunnels and refuses its grant, so a cached answer opens nothing. Unknown addresses cost one question each, a few at
 * a time; if there are too many, the network that asks most loses one.
 */
export interface PublicApps extends Disposable {
  /** The app's address that a Host field names, where apps are published at names. */
  placeOf(host: string | undefined): string | undefined
  request(place: string, request: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(place: string, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

/** How long an answer of the manager about an address is cached. */
const FRESH_MS = 5_000
const ASK_MS = 10_000
/** Largest number of questions in flight about unknown addresses. */
const MOST_QUESTIONS = 16
/** An app without visitors for this long is forgotten, with its grant. */
const IDLE_MS = 10 * 60_000
const SWEEP_MS = 60_000

interface Entry {
  readonly served: ServedApp
  readonly app: PublicApp
  freshUntil: number
  lastUsed: number
}

export function createPublicApps(deps: PublicAppsDeps): PublicApps {
  const { address, managerUrl, consoleSecret, trustedProxies = [], log, now = () => performance.now() } = deps
  const api = createClient({
    baseUrl: managerUrl,
    fetch: (url, init) => fetchByEnvironment(url, init as RequestInit),
    headers: () => ({ [CONSOLE_SECRET_HEADER]: consoleSecret }),
  })
  const transport = createTransport(managerUrl, deps.direct)
  const entries = new Map<string, Entry>()
  const asking = new Map<string, Promise<Entry | undefined | 'busy'>>()
  const strange = createTurnstile({ most: MOST_QUESTIONS })
  const addressOf = (request: IncomingMessage) => clientOf(request, trustedProxies).address
  const sweep = setInterval(closeIdle, SWEEP_MS)
  sweep.unref()

  function forget(place: string, entry: Entry | undefined): void {
    if (!entry || entries.get(place) !== entry) return
    entries.delete(place)
    entry.app[Symbol.dispose]()
  }
  function closeIdle(): void {
    for (const [place, entry] of entries) {
      if (now() - entry.lastUsed > IDLE_MS && !entry.app.isUsed()) forget(place, entry)
      else entry.app.closeIdle(IDLE_MS)
    }
  }

  async function ask(place: string, givenUp?: AbortSignal): Promise<Entry | undefined | 'busy'> {
    const known = entries.get(place)
    let served: ServedApp
    try {
      const timeout = AbortSignal.timeout(ASK_MS)
      const signal = givenUp ? AbortSignal.any([timeout, givenUp]) : timeout
      served = await api.getServedApp({ params: { place }, signal })
    } catch (error) {
      if (givenUp?.aborted === true) return 'busy'
      if (!isAppError(error) || error.code !== 'published_app_not_found') throw error
      forget(place, known)
      return undefined
    }
    if (known && known.served.id === served.id) {
      known.freshUntil = now() + FRESH_MS
      return known
    }
    // Another link has got the address of an ended one.
    forget(place, known)
    const app = createPublicApp({
      served,
      place,
      address,
      api,
      transport,
      addressOf,
      onEnded: () => forget(place, entry),
      log,
    })
    const entry: Entry = { served, app, freshUntil: now() + FRESH_MS, lastUsed: now() }
    entries.set(place, entry)
    return entry
  }

  /** Asks about an address that is known only from the sender's request. */
  function askForStranger(place: string, address: string): Promise<Entry | undefined | 'busy'> {
    const giveUp = new AbortController()
    const asked = ask(place, giveUp.signal)
    strange.enter(address, {
      once: (_, left) => void asked.then(left, left),
      destroy: () => {
        giveUp.abort()
      },
    })
    return asked
  }

  /** @returns undefined if nothing is served there; `busy` if too many places are being looked up */
  async function find(place: string, isAtDoor: boolean, address: string): Promise<Entry | undefined | 'busy'> {
    const known = entries.get(place)
    // At the entry the answer must be fresh: an address that was just given to another app has another secret.
    if (known && known.freshUntil > now() && !isAtDoor) return known
    const current = asking.get(place)
    if (current) {
      const found = await current
      // Another person's question was dropped, so ask again for this one.
      return found === 'busy' ? await find(place, isAtDoor, address) : found
    }
    // Names that strangers invent must not keep anybody from an app that is known here.
    const asked = (known ? ask(place) : askForStranger(place, address)).finally(() => asking.delete(place))
    asking.set(place, asked)
    return await asked
  }

  async function ended(place: string, request: IncomingMessage): Promise<PublicPage> {
    const visit = { place, key: keyIn(request.url), cookie: request.headers.cookie, scheme: address.scheme }
    if (!mayHaveHeld(visit)) return publicRefusal('ended')
    const giveUp = new AbortController()
    const asked = endedPage(api, visit, AbortSignal.any([AbortSignal.timeout(ASK_MS), giveUp.signal]))
    strange.enter(addressOf(request), {
      once: (_, left) => void asked.then(left, left),
      destroy: () => {
        giveUp.abort()
      },
    })
    return await asked
  }

  async function appAt(place: string, request: IncomingMessage): Promise<PublicApp | PublicPage> {
    // Neither an app nor an ended link ever had such an address, and the manager would refuse the question.
    if (!APP_PLACE.test(place)) return publicRefusal('wrong_host')
    try {
      const isAtDoor = request.url?.startsWith(PUBLIC_OPEN_PATH) === true
      const found = await find(place, isAtDoor, addressOf(request))
      if (found === 'busy') return publicRefusal('busy')
      if (!found) return await ended(place, request)
      found.lastUsed = now()
      return found.app
    } catch (error) {
      log.warn({ error: String(error) }, 'the manager did not say which app is published')
      return publicRefusal('busy')
    }
  }

  return {
    placeOf(host) {
      if (address.kind !== 'names' || host === undefined) return undefined
      const end = `.${address.suffix}${address.port}`
      const name = host.toLowerCase()
      return name.endsWith(end) ? name.slice(0, -end.length) : undefined
    },
    async request(place, request, response) {
      if (request.url === READY_PATH) {
        response.writeHead(204, { [READY_HEADER]: '1', 'cache-control': 'no-store' }).end()
        return
      }
      const found = await appAt(place, request)
      if ('body' in found) sendPage(response, found)
      else await found.request(request, response)
    },
    async upgrade(place, request, socket, head) {
      const found = await appAt(place, request)
      if ('body' in found) refuseRaw(socket, found)
      else await found.upgrade(request, socket, head)
    },
    [Symbol.dispose]() {
      clearInterval(sweep)
      for (const [place, entry] of entries) forget(place, entry)
    },
  }
}
