import { createClient, isAppError, type ApiClient, type Me } from '#manager/contract'
import { csrfToken } from './csrf.ts'

export interface ApiDeps {
  readonly fetch: typeof fetch
  /** Called when the manager no longer knows this sign-in. */
  readonly onSignedOut: () => void
  /** Another tab signed in anew, and the cookie is its. @returns whether it is still the person of this page */
  readonly adopt: (me: Me) => boolean
}

/** The typed client for a page of the manager's own origin: the cookie goes by itself, the CSRF token by header. */
export function createApi({ fetch, onSignedOut, adopt }: ApiDeps): ApiClient {
  const client = createClient({
    baseUrl: '',
    fetch: (url, init) => {
      const request: RequestInit = { ...(init as RequestInit), credentials: 'same-origin', cache: 'no-store' }
      return init.method === 'GET' ? withRetries(() => fetch(url, request), request.signal) : fetch(url, request)
    },
    headers: () => ({ 'x-berth-csrf': csrfToken.get() }),
  })
  const watched = Object.entries(client).map(([name, call]) => [
    name,
    async (...input: unknown[]) => {
      const send = () => (call as (...input: unknown[]) => Promise<unknown>)(...input)
      try {
        return await send()
      } catch (error) {
        if (!isAppError(error)) throw error
        if (error.code === 'not_signed_in') onSignedOut()
        if (error.code !== 'csrf_failed') throw error
        // Our token is of the sign-in before. What one person did is never done as another.
        if (!adopt(await client.me())) throw error
        return await send()
      }
    },
  ])
  return Object.fromEntries(watched) as ApiClient
}

/** Milliseconds before each further attempt. */
const PAUSES = [100, 400]

/**
 * Chromium gives up whatever is in flight when a network interface comes or goes, and the network of a session that starts on
 * this computer is one (`ERR_NETWORK_CHANGED`). Questions may be asked again; what changes something may have been done.
 */
async function withRetries(send: () => Promise<Response>, signal: AbortSignal | null | undefined): Promise<Response> {
  for (const pause of PAUSES) {
    try {
      return await send()
    } catch (error) {
      if (signal?.aborted) throw error
      await new Promise(resolve => setTimeout(resolve, pause))
    }
  }
  return await send()
}
