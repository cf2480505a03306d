import { AppError } from '#manager/contract'
import { type Fetch } from '#proxy/network'
import { CONSOLE_ORIGIN, isConsoleUrl } from '../security/console-origin.ts'
import { type Account } from './account.ts'
import { securityHeaders } from './content-security-policy.ts'
import { forwardApi, type ForwardDeps, problem } from './forward-api.ts'
import { readConsoleFile } from './serve-files.ts'

export interface ConsoleDeps {
  /** Folder of the built page. */
  readonly root: string
  /** Resolves once the manager to talk to is known; the page itself does not wait for it. */
  readonly account: () => Promise<Account>
  readonly fetch: Fetch
  readonly untilSleep: ForwardDeps['untilSleep']
  readonly reach: ForwardDeps['reach']
  readonly onUnexpected: (where: string, error: unknown) => void
}

/**
 * Answers `berth://console/*`: the page's files, and `/api/*` forwarded to the manager. Only this app's windows can reach it (a
 * scheme of the app, no port), and only our own page: another host name is unknown, and a request with a foreign Origin is
 * refused. If the manager cannot be reached, the page still loads and says so.
 */
export function createConsoleHandler({ root, account, onUnexpected, ...forwarding }: ConsoleDeps) {
  const answer = async (request: Request): Promise<Response> => {
    if (!isConsoleUrl(request.url)) throw new AppError('not_found')
    const origin = request.headers.get('origin')
    if (origin !== null && origin !== CONSOLE_ORIGIN) throw new AppError('foreign_origin', { origin })
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/api/')) return forwardApi(request, { ...forwarding, account: await account() })
    if (request.method !== 'GET' && request.method !== 'HEAD') throw new AppError('not_found')
    const file = await readConsoleFile(root, pathname)
    if (!file) throw new AppError('not_found', { pathname })
    const cache = pathname.startsWith('/assets/') ? 'max-age=31536000, immutable' : 'no-cache'
    return new Response(file.body, { headers: { 'content-type': file.type, 'cache-control': cache } })
  }
  return async (request: Request): Promise<Response> => {
    const response = await answer(request).catch((error: unknown) => {
      const refusal = problem(error)
      if (refusal.status === 500) onUnexpected(request.url, error)
      return refusal
    })
    const { pathname } = new URL(request.url)
    for (const [name, value] of Object.entries(securityHeaders(pathname))) response.headers.set(name, value)
    return response
  }
}
