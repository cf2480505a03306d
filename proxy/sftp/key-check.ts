import type { PublicKeyAuthContext, utils } from 'ssh2'

export interface KeyCheckDeps {
  /** Lines of `.pub` files whose owners may connect. Called again after some seconds. */
  readonly allowedKeys: () => Promise<readonly string[]>
  /** Function of ssh2, which is loaded late. */
  readonly parseKey: typeof utils.parseKey
  /** Milliseconds of a clock that is never set. */
  readonly now?: () => number
}

/** Time for which the allowed keys are cached: keys that strangers try must not each cause a call to the manager. */
const KEYS_MS = 3_000
/** The list is fetched again for an unknown key if it is older than this: the owner may have stored the key since. */
const NEW_KEYS_MS = 100

/** @returns checks whether a client has proved, or could prove, an allowed key */
export function createKeyCheck({
  allowedKeys,
  parseKey,
  now = () => performance.now(),
}: KeyCheckDeps): (tried: PublicKeyAuthContext) => Promise<boolean> {
  let remembered: { readonly keys: Promise<readonly string[]>; readonly at: number } | undefined

  function keysNotOlderThan(ms: number): Promise<readonly string[]> {
    const at = now()
    if (remembered && at - remembered.at < ms) return remembered.keys
    const keys = allowedKeys()
    remembered = { keys, at }
    keys.catch(() => (remembered = undefined))
    return keys
  }

  async function mayEnter(tried: PublicKeyAuthContext): Promise<boolean> {
    // If the key is unknown, fetch a newer list: a key that was just stored counts at once.
    return isAllowed(await keysNotOlderThan(KEYS_MS), tried) || isAllowed(await keysNotOlderThan(NEW_KEYS_MS), tried)
  }

  function isAllowed(lines: readonly string[], { key, blob, signature, hashAlgo }: PublicKeyAuthContext): boolean {
    for (const line of lines) {
      const allowed = parseKey(line)
      if (allowed instanceof Error || !allowed.getPublicSSH().equals(key.data)) continue
      // Without a signature the client only asks whether the key would do.
      if (signature === undefined) return true
      // ssh2 returns an Error if the signature cannot be read, despite its types.
      const verified: unknown = blob !== undefined && allowed.verify(blob, signature, hashAlgo)
      return verified === true
    }
    return false
  }

  return mayEnter
}
