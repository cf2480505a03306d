import { z } from 'zod'
import { TextOf, TextUpTo } from '../plain-text.ts'
import { APP_PLACE, MOST_APP_PORTS } from '../apps/apps-address.ts'
import { Grant } from '../apps/grants.ts'
import { SessionId } from '../ids.ts'
import { AdmittedVisitor, AppTicket, OpenAppSpec, OpenedApp, VisitorOfApp } from '../apps/own-apps.ts'
import { type RouteSpec } from './route-spec.ts'

const place = z.object({ place: TextOf(16, APP_PLACE) })

/** Web apps of sessions for browsers on other computers than the console. */
export const OWN_APP_ROUTES = {
  openApp: {
    method: 'POST',
    path: '/api/v1/sessions/:id/apps/:app/open',
    access: 'user',
    summary:
      'Open a web app of a session that you may use at the address of apps, and get a URL that admits one browser within a minute.',
    params: z.object({ id: SessionId, app: TextUpTo(32) }),
    body: OpenAppSpec,
    status: 201,
    reply: OpenedApp,
  },
  redeemAppTicket: {
    method: 'POST',
    path: '/console/v1/published-apps/:place/tickets',
    access: 'console',
    summary:
      'For the console: takes the ticket of a browser, once, and tells whose sign-in it belongs to. A browser other than that which asked for it is refused until its person has confirmed.',
    params: place,
    body: AppTicket,
    reply: AdmittedVisitor,
  },
  grantOwnApp: {
    method: 'POST',
    path: '/console/v1/published-apps/:place/visitors/grant',
    access: 'console',
    summary: 'For the console: a grant for tunnels to the app that ends with the sign-in of its visitor.',
    params: place,
    body: VisitorOfApp,
    status: 201,
    reply: Grant,
  },
  reportAppPorts: {
    method: 'PUT',
    path: '/console/v1/app-ports/:console',
    access: 'console',
    summary: 'For the console: ports of the address of apps at which it does not listen.',
    params: z.object({ console: TextOf(260, /^[\w.-]{1,260}$/) }),
    body: z.strictObject({ closed: z.array(z.int().min(1).max(65_535)).max(MOST_APP_PORTS) }),
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
