import { type SignInWanted } from '#proxy/network'
import { type CredentialStore } from '../credentials/credential-store.ts'
import { type AskForProxy } from './proxy-question.ts'

export interface ProxySignInDeps {
  readonly store: CredentialStore
  readonly ask: AskForProxy
  readonly onUnexpected: (error: unknown) => void
}

/** The user's sign-ins to the proxies of the network. */
export interface ProxySignIns {
  /** The callback for `createNetwork`. @returns `name:password`; null if the user has none, or has cancelled */
  signInFor(wanted: SignInWanted): Promise<string | null>
  /** Waits for the answers to open questions. @returns whether a sign-in is among them, so that a connection is worth another try */
  answered(): Promise<boolean>
  /** Call when the user wants to connect: a question that they cancelled may come again. */
  forgetCancelled(): void
}

/**
 * Provides sign-ins to proxies: from the credential store, else from the user, who is asked once per proxy, however many connections wait.
 * A stored sign-in is tried with a single connection before others use it, and is deleted once the proxy refuses it: many networks lock an
 * account after a few wrong passwords.
 */
export function createProxySignIns({ store, ask, onUnexpected }: ProxySignInDeps): ProxySignIns {
  const searches = new Map<string, Promise<string | null>>()
  const cancelled = new Set<string>()

  async function search({ proxy, refused, tryOut }: SignInWanted): Promise<string | null> {
    const entry = `proxy ${proxy}`
    const kept = await store.get(entry)
    if (kept !== null && kept !== refused && (await tryOut(kept))) return kept
    if (kept !== null) await store.delete(entry)
    if (cancelled.has(proxy)) return null
    const given = await ask({ proxy, wasRefused: kept !== null || refused !== undefined, tryOut })
    if (given === null) {
      cancelled.add(proxy)
      return null
    }
    // The connection works even if the store does not.
    if (given.isKept) await store.set(entry, given.signIn).catch(onUnexpected)
    return given.signIn
  }

  return {
    signInFor(wanted) {
      const { proxy } = wanted
      const running = searches.get(proxy)
      if (running) return running
      const begun = search(wanted).finally(() => searches.delete(proxy))
      searches.set(proxy, begun)
      return begun
    },
    async answered() {
      const answers = await Promise.allSettled(searches.values())
      return answers.some(answer => answer.status === 'fulfilled' && answer.value !== null)
    },
    forgetCancelled: () => cancelled.clear(),
  }
}
