import { type IncomingMessage } from 'node:http'
import { type AskingBrowser, type OwnApps } from '../../grants/own-apps.ts'
import { type PublishedApps } from '../../grants/published-apps.ts'
import { type Settings } from '../../settings/settings.ts'
import { cookieNameAt, readHalves } from '../browser-sign-in.ts'
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
  | 'listEndedLinks'
  | 'redeemAppTicket'
  | 'grantOwnApp'
  | 'reportAppPorts'
>

export function createServedAppRoutes(
  published: PublishedApps,
  own: OwnApps,
  settings: Pick<Settings, 'read'>,
): ServedAppHandlers {
  async function askingBrowser(request: IncomingMessage): Promise<AskingBrowser | undefined> {
    const halves = readHalves(request)
    const { publicUrl } = await settings.read()
    if (!halves || publicUrl === null) return undefined
    const { host, hostname, protocol } = new URL(publicUrl)
    return {
      ...halves,
      console: { host: hostname, cookieName: cookieNameAt({ host, https: protocol === 'https:' }) },
    }
  }

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
      return own.open(caller, params, { spec: body, browser: await askingBrowser(request.raw) })
    },
    getServedApp: async (_context, { params: { place } }) => (await own.serve(place)) ?? (await published.serve(place)),
    visitServedApp: ({ request }, { params, body }) =>
      published.visit(params.place, { ...body, address: clientAddress(request.raw) }),
    listEndedLinks: (_context, { params, body }) => published.ended(params.place, body.key),
    grantServedApp: ({ signal }, { params }) => published.grant(params.place, signal),
    redeemAppTicket: (_context, { params, body }) => own.redeem(params.place, body),
    reportAppPorts: (_context, { params, body }) => own.reportPorts(params.console, body.closed),
    grantOwnApp: ({ signal }, { params, body }) => own.grant(params.place, body.visitor, signal),
  }
}
