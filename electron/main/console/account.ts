import { createClient, isAppError, type UserId } from '#manager/contract'
import { type Fetch } from '#proxy/network'
import { type CredentialStore } from '../credentials/credential-store.ts'

/** The sign-in at one endpoint. Holds the bearer token: only `headers()` and the forwarder ever see it. */
export interface Account {
  /** Origin of the manager, e.g. `https://berth.example:8400`. */
  readonly endpoint: string
  /** Credentials for a request to the manager; empty while signed out. */
  readonly headers: () => Record<string, string>
  /** @throws `not_signed_in`, `unavailable` */
  userId(): Promise<UserId>
  signIn(token: string, userId: UserId): Promise<void>
  signOut(): Promise<void>
}

export interface AccountDeps {
  readonly endpoint: string
  /** Ticket of a one-time sign-in link, e.g. for the embedded stack's first admin; used only if no stored token works. */
  readonly ticket?: string | null
  readonly credentials: CredentialStore
  readonly fetch: Fetch
  /** Called when another user, or none, is signed in: resources of the previous user have to go. */
  readonly onUserChanged: () => Promise<void>
  /** Called when the same user has a new token. */
  readonly onSignedInAgain: () => Promise<void>
  /** Called when the credential store gave its token late: pages have shown the sign-in page in the meantime. */
  readonly onSignedInLate: () => void
}

export async function openAccount(deps: AccountDeps): Promise<Account> {
  const { endpoint, ticket, credentials, fetch } = deps
  let user: UserId | undefined
  /** Somebody has signed in or out: a token of the store counts no longer. */
  let isDecided = false
  let token = await credentials.get(endpoint, late => {
    if (isDecided) return
    token = late
    deps.onSignedInLate()
  })
  const account: Account = {
    endpoint,
    headers: () => (token === null ? {} : { authorization: `Bearer ${token}` }),
    async userId() {
      return (user ??= (await api.me()).user.id)
    },
    async signIn(newToken, userId) {
      // If the same user signs in again (after an expired sign-in), the tunnels stay and continue with the new token.
      const before = user
      isDecided = true
      token = newToken
      user = userId
      await credentials.set(endpoint, newToken)
      if (before === userId) await deps.onSignedInAgain()
      else if (before !== undefined) await deps.onUserChanged()
    },
    async signOut() {
      isDecided = true
      token = null
      user = undefined
      await credentials.delete(endpoint)
      await deps.onUserChanged()
    },
  }

  const api = createClient({
    baseUrl: endpoint,
    headers: account.headers,
    fetch: (url, init) => fetch(url, init as RequestInit),
  })
  const stored = token
  const me = stored === null ? undefined : await api.me().catch(refusedToken)
  user = me?.user.id
  if (stored !== null && me === null) await account.signOut()
  if (token === null && ticket) {
    // A ticket that was used or has expired leaves the user at the sign-in page, as without a ticket.
    const signed = await api.loginWithTicket({ body: { ticket, kind: 'token' } }).catch(() => undefined)
    if (signed?.token) await account.signIn(signed.token, signed.user.id)
  }
  return account
}

/** null: the token is invalid; undefined: the manager did not say (keep the token). */
function refusedToken(error: unknown): null | undefined {
  return isAppError(error) && error.code === 'not_signed_in' ? null : undefined
}
