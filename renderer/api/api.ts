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
      return fetch(url, request)
    },
    // Chromium gives up whatever is in flight when a network interface comes or goes, and the network of a session that
    // starts on this computer is one (`ERR_NETWORK_CHANGED`).
    wait: ms => new Promise(resolve => setTimeout(resolve, ms)),
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
