import { createHmac } from 'node:crypto'
import { PUBLIC_OPEN_PATH } from '#manager/contract'
import { cookiesNamed, coversOpening, folderOf } from '../../http-origins/gate.ts'
import { isSameSecret } from '../../http-origins/secrets.ts'
import { senderOf } from '../../http-origins/sender.ts'

/** Parts of a visitor's request that the gate checks; header values as received. */
export interface PublicVisit {
  readonly method: string
  /** Path and query of the request line. */
  readonly target: string
  readonly host: string | undefined
  readonly origin: string | undefined
  readonly cookie: string | undefined
  /** `Sec-Fetch-Site`, `Sec-Fetch-Mode` and `Sec-Fetch-Dest`; only browsers send them, and none over plain http. */
  readonly fetchSite: string | undefined
  readonly fetchMode: string | undefined
  readonly fetchDest: string | undefined
  readonly isWorkerScript: boolean
  /** The visitor's address is one of those that the link allows. */
  readonly isAllowedAddress: boolean
}

export interface PublicDoor {
  /** Host field that browsers send. */
  readonly authority: string
  readonly scheme: 'http' | 'https'
  readonly id: string
  readonly name: string
  readonly visitSecret: string
  readonly nowMs: number
}

/** Content of a visitor's cookie. */
interface Visited {
  /** The sign-in in the cookie; empty for a link. */
  readonly visitor: string
  /** Tells apart visitors of one link. */
  readonly visit: string
}

export type PublicAdmission =
  | ({ readonly kind: 'pass' } & Visited)
  /** The visitor is at the entry: with a link (GET), or with a password (POST). */
  | { readonly kind: 'door' }
  | {
      readonly kind: 'refuse'
      readonly reason: 'wrong_host' | 'foreign_origin' | 'unsaid_origin' | 'wrong_address' | 'no_visit' | 'worker'
    }

/**
 * Decides who may talk to a published app, from the request head alone and before anything is dialled.
 *
 * Threat model: everybody who reaches the console's port can send requests here. Each request is checked for its address, then for the
 * cookie that a visitor got at the entry in exchange for the key of the link and the password. Pages of other sites, siblings below the
 * same wildcard included, make a visitor's browser send requests too: a foreign Origin is refused, and so is what the browser itself calls
 * a request of another site, unless a link leads a whole tab here: a page that frames an app could have its visitor click in it
 * unknowingly. Service workers over the entry's path would see keys and passwords, so they are refused.
 */
export function admitVisitor(visit: PublicVisit, door: PublicDoor): PublicAdmission {
  const isAbsolute = !visit.target.startsWith('/') && visit.target !== '*'
  if (isAbsolute || visit.host?.toLowerCase() !== door.authority) return { kind: 'refuse', reason: 'wrong_host' }
  if (!visit.isAllowedAddress) return { kind: 'refuse', reason: 'wrong_address' }
  const sender = senderAt(visit, door)
  if (sender !== 'own') return { kind: 'refuse', reason: `${sender}_origin` }
  if (visit.target === PUBLIC_OPEN_PATH || visit.target.startsWith(`${PUBLIC_OPEN_PATH}?`)) return { kind: 'door' }
  if (visit.isWorkerScript && coversOpening(folderOf(visit.target))) return { kind: 'refuse', reason: 'worker' }
  const visited = visitOf(visit.cookie, door)
  return visited ? { kind: 'pass', ...visited } : { kind: 'refuse', reason: 'no_visit' }
}

function senderAt({ origin, fetchSite, fetchMode, fetchDest }: PublicVisit, { scheme, authority }: PublicDoor) {
  if (origin !== undefined) return senderOf({ origin, fetchSite }, `${scheme}://${authority}`)
  const isOwn = fetchSite === undefined || fetchSite === 'same-origin' || fetchSite === 'none'
  // A browser that does not know the field may send the others.
  const isTab = fetchMode === 'navigate' && (fetchDest === undefined || fetchDest === 'document')
  return isOwn || isTab ? 'own' : 'foreign'
}

/**
 * The cookie of a visitor. Ports of one host share cookies, so the name is that of the link. Over https, `__Host-` keeps siblings
 * from planting it.
 */
export function visitCookie({ scheme, name }: Pick<PublicDoor, 'scheme' | 'name'>) {
  const isSecure = scheme === 'https'
  return { name: `${isSecure ? '__Host-' : ''}berth_visit_${name}`, attributes: isSecure ? '; Secure' : '' }
}

/** Whether the cookies include one that has the form of a visit's. */
export const mayHoldVisit = (cookie: string | undefined) => /(^|;\s*)(__Host-)?berth_visit_/.test(cookie ?? '')

/** A visit lasts until the link ends, at most this long; then the visitor opens the link again. */
export const VISIT_MS = 24 * 3_600_000

/** @param visitor the sign-in of the app's owner; left out for a link */
export function newVisit(
  door: PublicDoor,
  expiresAtMs: number,
  visitor?: string,
): { readonly value: string; readonly seconds: number } {
  const until = Math.min(expiresAtMs, door.nowMs + VISIT_MS)
  const text = visitor === undefined ? String(until) : `${until}.${visitor}`
  return { value: `${text}.${macOf(door, text)}`, seconds: Math.ceil((until - door.nowMs) / 1000) }
}

/** Whether the cookies include a valid one for this app. */
export const isKnownVisitor = (cookie: string | undefined, door: PublicDoor) => visitOf(cookie, door) !== undefined

/** The content of the first valid cookie; other ports of the host may have set cookies of the same name. */
function visitOf(cookie: string | undefined, door: PublicDoor): Visited | undefined {
  for (const value of cookiesNamed(cookie, visitCookie(door).name)) {
    const end = value.lastIndexOf('.')
    const text = value.slice(0, end)
    const [until = '', visitor = ''] = text.split('.')
    if (end > 0 && isSameSecret(value.slice(end + 1), macOf(door, text)) && Number(until) > door.nowMs)
      return { visitor, visit: text }
  }
  return undefined
}

const macOf = ({ visitSecret, id }: PublicDoor, text: string) =>
  createHmac('sha256', visitSecret).update(`${id}\n${text}`).digest('base64url')
