import { z } from 'zod'
import { PlainText } from '../plain-text.ts'
import { QueueSort, Reservation } from '../sessions/queue.ts'
import { ResourceGroupName } from '../agents/resource-groups.ts'
import { Session } from '../sessions/sessions.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

/** The waiting sessions, as administrators see them. */
export const QUEUE_ROUTES = {
  listQueue: {
    method: 'GET',
    path: '/api/v1/queue',
    access: 'domain_admin',
    summary:
      'List waiting sessions, in the order in which they are tried unless `sort` says otherwise. An admin of a domain sees its sessions, with their positions among all.',
    query: Page.extend({
      resourceGroup: ResourceGroupName.optional(),
      search: PlainText(254)
        .optional()
        .describe('Part of the name, the image, the resource group or the e-mail address of the owner.'),
      sort: QueueSort.default('position').describe('Falling with a `-`. Sessions without a position come last.'),
    }),
    reply: pageOf(Session).extend({ total: z.int().describe('Number of all matches.') }),
  },
  listReservations: {
    method: 'GET',
    path: '/api/v1/reservations',
    access: 'domain_admin',
    summary:
      'List the capacity that is held for sessions that have waited long. An admin of a domain sees those of its sessions.',
    query: z.object({ resourceGroup: ResourceGroupName.optional() }),
    reply: z.object({ items: z.array(Reservation) }),
  },
} as const satisfies Record<string, RouteSpec>
