import { type OwnApps } from '../../grants/own-apps.ts'
import { type PublishedApps } from '../../grants/published-apps.ts'
import { readHalves } from '../browser-sign-in.ts'
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
  | 'reportAppPorts'
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
    async openApp({ caller, reply, request }, { params, body }) {
      void reply.header('cache-control', 'no-store')
      return own.open(caller, params, { spec: body, browser: readHalves(request.raw) })
    },
    getServedApp: async (_context, { params: { place } }) => (await own.serve(place)) ?? (await published.serve(place)),
    visitServedApp: ({ request }, { params, body }) =>
      published.visit(params.place, { ...body, address: clientAddress(request.raw) }),
    grantServedApp: ({ signal }, { params }) => published.grant(params.place, signal),
    redeemAppTicket: (_context, { params, body }) => own.redeem(params.place, body),
    reportAppPorts: (_context, { params, body }) => own.reportPorts(params.console, body.closed),
    grantOwnApp: ({ signal }, { params, body }) => own.grant(params.place, body.visitor, signal),
  }
}
