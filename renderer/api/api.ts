import { createClient, isAppError, type ApiClient, type Me } from '#manager/contract'
import { type OriginSecret, secretHeaders } from './origin-secret.ts'

export interface ApiDeps {
  readonly fetch: typeof fetch
  readonly secret: Pick<OriginSecret, 'get' | 'stored'>
  /** Called when the manager no longer knows this sign-in. */
  readonly onSignedOut: () => void
  /**
   * Called when another tab has signed in anew: the browser's cookie now belongs to that sign-in.
   * @returns whether it is a sign-in of the same person as on this page
   */
  readonly adopt: (me: Me, secret: string) => boolean
}

export interface PageApi extends ApiClient {
  /**
   * After `not_signed_in`, adopts a newer sign-in if there is one: another tab may have signed in anew, with a secret that this page does
   * not send yet.
   * @returns whether the page can continue: there is a newer sign-in of the same person
   */
  renewSignIn(): Promise<boolean>
}

/** The typed client for a page on the manager's own origin. The browser adds the cookie; `fetch` adds the origin secret. */
export function createApi({ fetch, secret, onSignedOut, adopt }: ApiDeps): PageApi {
  const client = createClient({
    baseUrl: '',
    fetch: (url, init) => {
      const request: RequestInit = { ...(init as RequestInit), credentials: 'same-origin', cache: 'no-store' }
      return fetch(url, request)
    },
    // Enables retries: Chromium aborts all requests in flight when a network interface comes or goes
    // (`ERR_NETWORK_CHANGED`), and the network of a session that starts on this computer is such an interface.
    wait: ms => new Promise(resolve => setTimeout(resolve, ms)),
  })
  async function renewSignIn(): Promise<boolean> {
    const newer = secret.stored()
    if (newer === '' || newer === secret.get()) return false
    return adopt(await client.me({ headers: secretHeaders(newer) }), newer)
  }
  const watched = Object.entries(client).map(([name, call]) => [
    name,
    async (...input: unknown[]) => {
      const send = () => (call as (...input: unknown[]) => Promise<unknown>)(...input)
      try {
        return await send()
      } catch (error) {
        if (!isAppError(error) || error.code !== 'not_signed_in') throw error
        // If the renewal fails, report the first error. A request of one person is never repeated as another person.
        if (await renewSignIn().catch(() => false)) return await send()
        onSignedOut()
        throw error
      }
    },
  ])
  return { ...(Object.fromEntries(watched) as ApiClient), renewSignIn }
}
