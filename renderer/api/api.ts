import { createClient, isAppError, type ApiClient } from '#manager/contract'
import { csrfToken } from './csrf.ts'

export interface ApiDeps {
  readonly fetch: typeof fetch
  /** Called when the manager no longer knows this sign-in. */
  readonly onSignedOut: () => void
}

/** The typed client for a page of the manager's own origin: the cookie goes by itself, the CSRF token by header. */
export function createApi({ fetch, onSignedOut }: ApiDeps): ApiClient {
  const client = createClient({
    baseUrl: '',
    fetch: (url, init) => fetch(url, { ...(init as RequestInit), credentials: 'same-origin', cache: 'no-store' }),
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
        // Another tab signed in anew: the cookie is its, our token is of the sign-in before.
        csrfToken.set((await client.me()).csrf)
        return await send()
      }
    },
  ])
  return Object.fromEntries(watched) as ApiClient
}
