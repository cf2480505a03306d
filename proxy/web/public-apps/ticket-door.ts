import { type IncomingMessage } from 'node:http'
import { type ApiClient, isAppError, PUBLIC_OPEN_PATH, type ServedApp } from '#manager/contract'
import { PAGE_HEADERS } from '../../http-origins/pages.ts'
import { clearedBefore, newVisit, type PublicDoor, visitCookie } from './public-gate.ts'
import { type PublicPage, publicRefusal } from './public-pages.ts'
import { startOf } from './door.ts'

export interface TicketDoorDeps {
  readonly served: ServedApp
  readonly place: string
  readonly api: Pick<ApiClient, 'redeemAppTicket'>
  readonly door: PublicDoor
  /** Apps are at ports of one host, which other apps had before. */
  readonly isShared: boolean
}

const CHECK_MS = 20_000

/**
 * Answers at the door of a person's own app: a ticket that the manager gave to the signed-in page becomes a cookie.
 *
 * Threat model: the ticket is in the address once; the manager takes it once, within a minute, at this place only. The redirect
 * takes it out of the address bar, and our pages send no referrer. Only GET counts, so a form of another site cannot bring one.
 * The cookie is HttpOnly, signed, and names the sign-in, whose rights are looked up behind it.
 */
export async function answerTicket(request: IncomingMessage, deps: TicketDoorDeps): Promise<PublicPage> {
  const query = new URLSearchParams((request.url ?? '').slice(PUBLIC_OPEN_PATH.length))
  const ticket = query.get('ticket')
  if (request.method !== 'GET' || !ticket || ticket.length > 200) return publicRefusal('ticket')
  const { served, place, api, door } = deps
  try {
    const { visitor, expiresAt } = await api.redeemAppTicket({
      params: { place },
      body: { ticket },
      signal: AbortSignal.timeout(CHECK_MS),
    })
    const cookie = visitCookie(door)
    const { value, seconds } = newVisit(door, Date.parse(expiresAt), visitor)
    return {
      status: 303,
      headers: {
        ...PAGE_HEADERS,
        location: startOf(query.get('to') ?? served.path),
        'set-cookie': `${cookie.name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${cookie.attributes}`,
        ...clearedBefore(request.headers.cookie, door, deps.isShared),
      },
      body: () => '',
    }
  } catch (error) {
    if (!isAppError(error)) throw error
    if (error.code === 'public_link_refused') return publicRefusal('ticket')
    if (error.code === 'published_app_not_found') return publicRefusal('not_open')
    throw error
  }
}
