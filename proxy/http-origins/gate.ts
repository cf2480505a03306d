import { isSameSecret, type Tickets } from './secrets.ts'
import { senderOf } from './sender.ts'

/** Parts of a request that the gate checks; header values as received. */
export interface Visit {
  readonly method: string
  /** Path and query of the request line. */
  readonly target: string
  readonly host: string | undefined
  readonly origin: string | undefined
  /** `Sec-Fetch-Site`; only browsers send it. */
  readonly fetchSite: string | undefined
  readonly cookie: string | undefined
  /** `Service-Worker: script`: the browser fetches the script of a worker to register or update. */
  readonly isWorkerScript: boolean
}

export type Admission =
  | { readonly kind: 'pass' }
  /** A ticket was redeemed: set the cookie and redirect to the app. */
  | { readonly kind: 'welcome' }
  | {
      readonly kind: 'refuse'
      readonly reason: 'wrong_host' | 'foreign_origin' | 'unsaid_origin' | 'bad_ticket' | 'no_cookie' | 'worker'
    }

export interface GateDeps {
  /** `<app>--<session>.localhost:<port>`, exactly as browsers send it in Host. */
  readonly authority: string
  readonly cookieName: string
  readonly cookieValue: string
  readonly tickets: Pick<Tickets, 'redeem'>
}

/** The only path of the origin that is ours; all other paths belong to the app. */
export const OPEN_PATH = '/_berth/open'

/** Whether a request is to OPEN_PATH. */
export const isOpening = (target: string) => target === OPEN_PATH || target.startsWith(`${OPEN_PATH}?`)

/**
 * True if a service worker of this scope would see a ticket on its way here. Scopes are compared as browsers do: by prefix.
 *
 * @param scope path of a worker's scope; of a script, the path of its folder
 */
export const coversOpening = (scope: string) => OPEN_PATH.startsWith(scope)

/** The widest scope of a worker whose script is at this path, unless the app widens it (`Service-Worker-Allowed`). */
export function folderOf(target: string): string {
  const path = target.split(/[?#]/, 1)[0] ?? ''
  return path.slice(0, path.lastIndexOf('/') + 1)
}

/**
 * Decides who may talk to an app, from the request head alone and before anything is dialled.
 *
 * Threat model: any local program, any web page in any browser of this computer and any name that resolves to 127.0.0.1 (DNS
 * rebinding) can send requests here. Only a browser that came with a ticket from the console has the cookie. A page of another
 * origin that makes that browser send the cookie is refused by Origin (`sender.ts`; WebSocket upgrades always carry one), and `SameSite=Lax`
 * keeps the cookie out of its sub-requests.
 *
 * Remaining risk: browsers send the cookie to every port of this host name, so a local program that knows the name of the
 * origin and gets the browser to visit it on another port can use the app until the tunnel closes. The pages of apps are not
 * ours, so they cannot hold a second secret as the console's page does (ADR 0016). No data of the console or of another app
 * goes to that name.
 *
 * A service worker of the app would see later tickets and could hold them back for an accomplice on this computer, so a worker
 * whose scope covers OPEN_PATH is refused; other workers are the app's own affair.
 *
 * Order matters: host and origin are checked before a ticket can be used up.
 */
export function admit(visit: Visit, deps: GateDeps): Admission {
  // An absolute request target names a host of its own, which the app could prefer to the Host field (RFC 9112 section 3.2.2).
  const isAbsolute = !visit.target.startsWith('/') && visit.target !== '*'
  if (isAbsolute || visit.host?.toLowerCase() !== deps.authority) return { kind: 'refuse', reason: 'wrong_host' }
  const { origin, fetchSite } = visit
  const sender = origin === undefined ? 'own' : senderOf({ origin, fetchSite }, `http://${deps.authority}`)
  if (sender !== 'own') return { kind: 'refuse', reason: `${sender}_origin` }
  if (isOpening(visit.target)) {
    const ticket = new URLSearchParams(visit.target.slice(OPEN_PATH.length)).get('ticket') ?? ''
    const isGood = visit.method === 'GET' && deps.tickets.redeem(ticket)
    return isGood ? { kind: 'welcome' } : { kind: 'refuse', reason: 'bad_ticket' }
  }
  if (visit.isWorkerScript && coversOpening(folderOf(visit.target))) return { kind: 'refuse', reason: 'worker' }
  const sent = cookiesNamed(visit.cookie, deps.cookieName)
  return sent.some(value => isSameSecret(value, deps.cookieValue))
    ? { kind: 'pass' }
    : { kind: 'refuse', reason: 'no_cookie' }
}

/** Values of a cookie in a Cookie header; a name may occur more than once. */
export function cookiesNamed(header: string | undefined, name: string): string[] {
  return pairsOf(header)
    .filter(pair => pair.startsWith(`${name}=`))
    .map(pair => pair.slice(name.length + 1))
}

/** The Cookie header without one cookie; undefined when nothing is left. */
export function withoutCookie(header: string, name: string): string | undefined {
  const rest = pairsOf(header).filter(pair => pair !== name && !pair.startsWith(`${name}=`))
  return rest.length > 0 ? rest.join('; ') : undefined
}

function pairsOf(header: string | undefined): string[] {
  return (header ?? '')
    .split(';')
    .map(pair => pair.trim())
    .filter(pair => pair !== '')
}
