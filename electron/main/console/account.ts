import { createClient, isAppError, type UserId } from '#manager/contract'
import { type Fetch, replyOf } from '#proxy/network'
import { listenerToRemember, refuseForeignListener } from '#proxy/listener-user'
import { type CredentialStore } from '../credentials/credential-store.ts'
import { packSignIn, type StoredSignIn, unpackSignIn } from '../credentials/stored-sign-in.ts'

/** The sign-in at one endpoint. Holds the bearer token: only `headers()` and the forwarder ever see it. */
export interface Account {
  /** Origin of the manager, e.g. `https://berth.example:8400`. */
  readonly endpoint: string
  readonly isSignedIn: () => boolean
  /**
   * Credentials for a request to the manager; empty while signed out.
   *
   * @throws AppError `unavailable` if the program of another user of this computer would get them
   */
  readonly headers: () => Promise<Record<string, string>>
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
  /** Called when the credential store returned its token late, and pages have shown the sign-in page in the meantime. */
  readonly onSignedInLate: () => void
}

export async function openAccount(deps: AccountDeps): Promise<Account> {
  const { endpoint, ticket, credentials, fetch } = deps
  let user: UserId | undefined
  /** True once somebody has signed in or out: a token from the store is then ignored. */
  let isDecided = false
  let held: StoredSignIn | null = null
  const kept = await credentials.get(endpoint, late => {
    if (isDecided) return
    held = unpackSignIn(late)
    deps.onSignedInLate()
  })
  if (kept !== null) held = unpackSignIn(kept)
  const account: Account = {
    endpoint,
    isSignedIn: () => held !== null,
    async headers() {
      if (held === null) return {}
      const { token, listener } = held
      await refuseForeignListener(endpoint, listener)
      return { authorization: `Bearer ${token}` }
    },
    async userId() {
      return (user ??= (await api.me()).user.id)
    },
    async signIn(token, userId) {
      const listener = await listenerToRemember(endpoint)
      // If the same user signs in again (after an expired sign-in), the tunnels stay and continue with the new token.
      const before = user
      isDecided = true
      held = { token, listener }
      user = userId
      await credentials.set(endpoint, packSignIn(held))
      if (before === userId) await deps.onSignedInAgain()
      else if (before !== undefined) await deps.onUserChanged()
    },
    async signOut() {
      isDecided = true
      held = null
      user = undefined
      await credentials.delete(endpoint)
      await deps.onUserChanged()
    },
  }

  const api = createClient({
    baseUrl: endpoint,
    sign: account.headers,
    fetch: async (url, init) => replyOf(await fetch(url, init as RequestInit)),
  })
  const me = held === null ? undefined : await api.me().catch(refusedToken)
  user = me?.user.id
  if (me === null) await account.signOut()
  if (!account.isSignedIn() && ticket) {
    // A ticket that was used or has expired leaves the user at the sign-in page, as without a ticket.
    const signed = await api.loginWithTicket({ body: { ticket, kind: 'token' } }).catch(() => undefined)
    if (signed?.token) await account.signIn(signed.token, signed.user.id)
  }
  return account
}

/** null: the token is invalid; undefined: the manager did not say so (keep the token). */
function refusedToken(error: unknown): null | undefined {
  return isAppError(error) && error.code === 'not_signed_in' ? null : undefined
}
