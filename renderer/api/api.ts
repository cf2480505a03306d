import { createClient, isAppError, type ApiClient, type Me } from '#manager/contract'
import { type OriginSecret, secretHeaders } from './origin-secret.ts'

export interface ApiDeps {
  readonly fetch: typeof fetch
  readonly secret: Pick<OriginSecret, 'get' | 'stored'>
  /** Called when the manager no longer knows this sign-in. */
  readonly onSignedOut: () => void
  /** Another tab signed in anew, and the cookie is its. @returns whether it is still the person of this page */
  readonly adopt: (me: Me, secret: string) => boolean
}

export interface PageApi extends ApiClient {
  /**
   * After `not_signed_in`: another tab may have signed in anew, with a secret that this page does not send yet.
   * @returns whether this page goes on with it: a newer sign-in of the same person
   */
  renewSignIn(): Promise<boolean>
}

/** The typed client for a page of the manager's own origin: the cookie goes by itself, its other half by `fetch`. */
export function createApi({ fetch, secret, onSignedOut, adopt }: ApiDeps): PageApi {
  const client = createClient({
    baseUrl: '',
    fetch: (url, init) => {
      const request: RequestInit = { ...(init as RequestInit), credentials: 'same-origin', cache: 'no-store' }
      return fetch(url, request)
    },
    // Chromium gives up whatever is in flight when a network interface comes or goes, and the network of a session that
    // starts on this computer is one (`ERR_NETWORK_CHANGED`).
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
        // A renewal that fails leaves the first error to tell. What one person did is never done as another.
        if (await renewSignIn().catch(() => false)) return await send()
        onSignedOut()
        throw error
      }
    },
  ])
  return { ...(Object.fromEntries(watched) as ApiClient), renewSignIn }
}
