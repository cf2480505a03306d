import { ORIGIN_SECRET_HEADER } from '#manager/contract'

const KEY = 'berth.origin-secret'

/**
 * The origin secret: one half of the sign-in, bound to this origin; the cookie is the other half. Empty while signed out, and
 * in the desktop app, whose main process holds a token instead.
 *
 * Threat model: browsers keep the storage of an origin apart by port, unlike cookies. Script of other ports and other sites
 * cannot read it. Each page keeps sending the secret it began with until the account store has checked that a newer one
 * belongs to the same person. So nothing is ever done in the name of somebody else who signed in in another tab.
 */
export interface OriginSecret {
  /** The secret that this page sends. */
  get(): string
  /** The secret of the newest sign-in in this browser, from any tab. */
  stored(): string
  /** Makes this page send `secret` from now on. */
  use(secret: string): void
  /** Stores the secret for reloads and other tabs; this page does not send it before `use`. */
  store(secret: string): void
  /** Forgets the secret of this page after a deliberate sign-out. A newer sign-in of another tab stays. */
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

/** Request headers that carry this secret; none if it is empty. */
export function secretHeaders(secret: string): Record<string, string> {
  return secret === '' ? {} : { [ORIGIN_SECRET_HEADER]: secret }
}

/** `fetch` for all requests to the page's own origin: adds the secret, unless the request already names one. */
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
