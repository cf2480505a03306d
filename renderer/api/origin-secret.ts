import { ORIGIN_SECRET_HEADER } from '#manager/contract'

const KEY = 'berth.origin-secret'

/**
 * The half of the sign-in that belongs to this origin; the cookie is the other one. Empty where nobody is signed in, and in
 * the desktop app, whose main process holds a token.
 *
 * Threat model: browsers keep the storage of an origin apart by port, unlike cookies. Script of other ports and other sites
 * cannot read it. Each page goes on with the secret it began with until the account store has checked that a newer one is of
 * the same person, so that nothing is ever done as somebody else who signed in in another tab.
 */
export interface OriginSecret {
  /** The one that this page sends. */
  get(): string
  /** The one of the newest sign-in in this browser, of whichever tab. */
  stored(): string
  /** This page sends it from now on. */
  use(secret: string): void
  /** Kept for reloads and other tabs; this page does not send it before `use`. */
  store(secret: string): void
  /** Signed out on purpose. A newer sign-in of another tab stays. */
  forget(): void
}

export function createOriginSecret(storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>): OriginSecret {
  const stored = () => storage.getItem(KEY) ?? ''
  let current = stored()
  return {
    get: () => current,
    stored,
    use: secret => void (current = secret),
    store: secret => storage.setItem(KEY, secret),
    forget() {
      if (stored() === current) storage.removeItem(KEY)
      current = ''
    },
  }
}

/** Headers of a request that is made with this secret. */
export function secretHeaders(secret: string): Record<string, string> {
  return secret === '' ? {} : { [ORIGIN_SECRET_HEADER]: secret }
}

/** `fetch` for everything that the page asks of its own origin. A request that names a secret keeps it. */
export function fetchWithSecret(
  fetch: typeof globalThis.fetch,
  secret: Pick<OriginSecret, 'get'>,
  more: (path: string) => Record<string, string> = () => ({}),
): typeof fetch {
  return (input, init) => {
    const headers = new Headers({ ...secretHeaders(secret.get()), ...(typeof input === 'string' ? more(input) : {}) })
    new Headers(init?.headers).forEach((value, name) => headers.set(name, value))
    return fetch(input, { ...init, headers })
  }
}
