import { type IncomingMessage } from 'node:http'
import { type ApiClient, isAppError, PUBLIC_OPEN_PATH, type ServedApp } from '#manager/contract'
import { plainSignIns } from '../sign-in-cookies.ts'
import { confirmPage } from './confirm-page.ts'
import { letIn } from './let-in.ts'
import { isKnownVisitor, type PublicDoor } from './public-gate.ts'
import { type PublicPage, publicRefusal } from './public-pages.ts'
import { readForm } from './read-form.ts'

export interface TicketDoorDeps {
  readonly served: ServedApp
  readonly place: string
  readonly api: Pick<ApiClient, 'redeemAppTicket'>
  readonly door: PublicDoor
  /** True if apps are at ports of one host, where other apps may have been before. */
  readonly isShared: boolean
}

const CHECK_MS = 20_000

/**
 * Answers at the entry of a person's own app: a ticket that the manager gave to the signed-in page is exchanged for a cookie.
 *
 * Threat model: the ticket is in the address once; the manager accepts it once, within a minute, at this address only. The redirect takes
 * it out of the address bar, and our pages send no referrer. A ticket that an attacker requested would lead a person into the attacker's
 * app, where the attacker reads what the person types (login CSRF). So a browser continues at once only if it has the cookie of the sign-in
 * that requested the ticket, or has been in this app before. Any other browser is shown the app's owner, and the person confirms with a
 * form of this origin. The gate refuses forms of other origins. The cookie is HttpOnly, signed, and names the sign-in, whose rights are
 * checked afterwards.
 */
export async function answerTicket(request: IncomingMessage, deps: TicketDoorDeps): Promise<PublicPage> {
  const isForm = request.method === 'POST'
  const shown = isForm ? await readForm(request) : new URLSearchParams(queryOf(request))
  const ticket = shown?.get('ticket')
  if (!(isForm || request.method === 'GET') || !ticket || ticket.length > 200) return publicRefusal('ticket')
  const { served, place, api, door, isShared } = deps
  const { cookie } = request.headers
  const to = shown?.get('to') ?? served.path
  try {
    const { visitor, expiresAt } = await api.redeemAppTicket({
      params: { place },
      body: {
        ticket,
        cookies: plainSignIns(cookie ?? ''),
        isConfirmed: isForm || isKnownVisitor(cookie, door),
      },
      signal: AbortSignal.timeout(CHECK_MS),
    })
    return letIn({ door, cookie, expiresAt, visitor, to, isShared })
  } catch (error) {
    if (!isAppError(error)) throw error
    const { code, detail } = error
    if (code === 'published_app_not_found') return publicRefusal('not_open')
    if (code !== 'public_link_refused') throw error
    const { reason, user } = detail
    if (reason !== 'unconfirmed' || typeof user !== 'string') return publicRefusal('ticket')
    return confirmPage({ user, app: served.title, session: served.sessionName, ticket, to })
  }
}

const queryOf = ({ url = '' }: IncomingMessage) => url.slice(PUBLIC_OPEN_PATH.length)
