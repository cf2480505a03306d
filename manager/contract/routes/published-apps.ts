import { z } from 'zod'
import { APP_PLACE } from '../apps/apps-address.ts'
import { TextUpTo, TextOf } from '../plain-text.ts'
import { Grant } from '../apps/grants.ts'
import { SessionId } from '../ids.ts'
import {
  EndedLinks,
  PublishedApp,
  PublishedAppId,
  Publishing,
  PublishSpec,
  ServedApp,
  Visit,
} from '../apps/published-apps.ts'
import { type RouteSpec } from './route-spec.ts'

/** Name of a published app, or its port. */
const place = z.object({ place: TextOf(16, APP_PLACE) })

/** Apps that are open to people without an account. */
export const PUBLISHED_APP_ROUTES = {
  publishApp: {
    method: 'POST',
    path: '/api/v1/sessions/:id/apps/:app/published',
    access: 'user',
    summary: 'Open a web app of your own session to everybody who has the link, until the link ends.',
    params: z.object({ id: SessionId, app: TextUpTo(32) }),
    body: PublishSpec,
    status: 201,
    reply: PublishedApp,
  },
  listPublishedApps: {
    method: 'GET',
    path: '/api/v1/published-apps',
    access: 'user',
    summary: 'List your open links, newest first. An admin of a domain sees those of its sessions, a superadmin all.',
    query: z.object({ session: SessionId.optional() }),
    reply: z.object({ items: z.array(PublishedApp).describe('At most 500.'), publishing: Publishing }),
  },
  unpublishApp: {
    method: 'DELETE',
    path: '/api/v1/published-apps/:publishedId',
    access: 'user',
    summary: 'End a link at once, and the connections of its visitors.',
    params: z.object({ publishedId: PublishedAppId }),
    reply: z.object({
      connections: z
        .int()
        .describe('Connections of visitors that were ended at this manager; those at other managers end at once, too.'),
    }),
  },

  getServedApp: {
    method: 'GET',
    path: '/console/v1/published-apps/:place',
    access: 'console',
    summary: 'For the console: the published app with this name or port.',
    params: place,
    reply: ServedApp,
  },
  visitServedApp: {
    method: 'POST',
    path: '/console/v1/published-apps/:place/visits',
    access: 'console',
    summary: 'For the console: checks the key of a link and the password, and counts the visit.',
    params: place,
    body: Visit,
    status: 204,
    reply: z.void(),
  },
  listEndedLinks: {
    method: 'POST',
    path: '/console/v1/published-apps/:place/ended',
    access: 'console',
    summary:
      'For the console: the links that this name or port had in the last 30 days, newest first, and why they ended.',
    params: place,
    body: z.strictObject({ key: TextUpTo(200).optional() }),
    status: 200,
    reply: EndedLinks,
  },
  grantServedApp: {
    method: 'POST',
    path: '/console/v1/published-apps/:place/grant',
    access: 'console',
    summary: 'For the console: starts the app if needed, and gives a grant for tunnels to it.',
    params: place,
    status: 201,
    reply: Grant,
  },
} as const satisfies Record<string, RouteSpec>
