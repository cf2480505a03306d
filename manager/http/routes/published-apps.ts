import { type PublishedApps } from '../../grants/published-apps.ts'
import { clientAddress } from '../origin.ts'
import { type Handlers } from '../handlers.ts'

type PublishedAppHandlers = Pick<
  Handlers,
  'publishApp' | 'listPublishedApps' | 'unpublishApp' | 'getServedApp' | 'visitServedApp' | 'grantServedApp'
>

export function createPublishedAppRoutes(published: PublishedApps): PublishedAppHandlers {
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
    getServedApp: (_context, { params }) => published.serve(params.place),
    visitServedApp: ({ request }, { params, body }) =>
      published.visit(params.place, { ...body, address: clientAddress(request.raw) }),
    grantServedApp: ({ signal }, { params }) => published.grant(params.place, signal),
  }
}
