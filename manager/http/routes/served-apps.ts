import { type OwnApps } from '../../grants/own-apps.ts'
import { type PublishedApps } from '../../grants/published-apps.ts'
import { clientAddress } from '../origin.ts'
import { type Handlers } from '../handlers.ts'

type ServedAppHandlers = Pick<
  Handlers,
  | 'publishApp'
  | 'listPublishedApps'
  | 'unpublishApp'
  | 'openApp'
  | 'getServedApp'
  | 'visitServedApp'
  | 'grantServedApp'
  | 'redeemAppTicket'
  | 'grantOwnApp'
>

export function createServedAppRoutes(published: PublishedApps, own: OwnApps): ServedAppHandlers {
  return {
    async publishApp({ caller, reply }, { params, body }) {
      void reply.header('cache-control', 'no-store')
      return published.publish(caller, params, body)
    },
    async listPublishedApps({ caller, reply }, { query }) {
      void reply.header('cache-control', 'no-store')
      return published.list(caller, query.session)
    },
    unpublishApp: ({ caller }, { params }) => published.unpublish(caller, params.publishedId),
    async openApp({ caller, reply }, { params, body }) {
      void reply.header('cache-control', 'no-store')
      return own.open(caller, params, body)
    },
    getServedApp: async (_context, { params: { place } }) => (await own.serve(place)) ?? (await published.serve(place)),
    visitServedApp: ({ request }, { params, body }) =>
      published.visit(params.place, { ...body, address: clientAddress(request.raw) }),
    grantServedApp: ({ signal }, { params }) => published.grant(params.place, signal),
    redeemAppTicket: (_context, { params, body }) => own.redeem(params.place, body.ticket),
    grantOwnApp: ({ signal }, { params, body }) => own.grant(params.place, body.visitor, signal),
  }
}
