import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createMemoryCredentials, type CredentialStore } from './credential-store.ts'

const SERVICE = 'berth'
/** A locked store may ask the user to unlock it, and answers when they have, or never. */
const PROBE_TIMEOUT_MS = 10_000

/** The part of `@napi-rs/keyring` used here. */
export interface KeyringEntry {
  setPassword(password: string, signal?: AbortSignal): Promise<void>
  getPassword(signal?: AbortSignal): Promise<string | null>
  deleteCredential(signal?: AbortSignal): Promise<boolean>
}
export type OpenEntry = (service: string, account: string) => KeyringEntry

export interface KeyringDeps {
  /** Called when a sign-in is kept in memory only, with what the store said. */
  readonly onUnusable: (why: string) => void
  readonly openEntry?: OpenEntry
  readonly probeTimeoutMs?: number
}

/**
 * The operating system's credential store: Keychain, Credential Manager, or the Secret Service on Linux. Linux is pinned to the
 * Secret Service, because the library would otherwise fall back to the kernel keyring, which a restart empties. A locked store
 * answers reads with "absent", or does not answer, so it counts as usable only after a value was written and read back in time. If it
 * is not usable, a token stays in memory, and the user is told; there is no fallback to a file. Each sign-in tries again: the user
 * may have unlocked the store.
 *
 * Nothing is done before the first call, so that a store that hangs does not keep the app from opening its window.
 */
export function createKeyringCredentials({
  onUnusable,
  openEntry,
  probeTimeoutMs = PROBE_TIMEOUT_MS,
}: KeyringDeps): CredentialStore {
  const memory = createMemoryCredentials()
  let probed: Promise<Probed> | undefined

  const look = async (): Promise<Probed> => {
    try {
      const entryOf = openEntry ?? (await loadKeyring())
      await within(probeTimeoutMs, signal => probe(entryOf, signal))
      return { entryOf }
    } catch (error) {
      return { why: error instanceof Error ? error.message : String(error) }
    }
  }
  const found = () => (probed ??= look())

  return {
    async get(endpoint) {
      const token = await memory.get(endpoint)
      if (token !== null) return token
      const { entryOf } = await found()
      return (await entryOf?.(SERVICE, endpoint).getPassword()) ?? null
    },
    async set(endpoint, token) {
      if (!(await found()).entryOf) probed = undefined
      const { entryOf, why = '' } = await found()
      if (entryOf) {
        await entryOf(SERVICE, endpoint).setPassword(token)
        await memory.delete(endpoint)
        return
      }
      await memory.set(endpoint, token)
      onUnusable(why)
    },
    async delete(endpoint) {
      await memory.delete(endpoint)
      const { entryOf } = await found()
      await entryOf?.(SERVICE, endpoint).deleteCredential()
    },
  }
}

/** How a probe of the store went: either of the two. */
interface Probed {
  readonly entryOf?: OpenEntry
  readonly why?: string
}

/** Rejects in time also where the library ignores the signal, as it does once a native call has begun. */
async function within(ms: number, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const end = new AbortController()
  const late = delay(ms, undefined, { signal: end.signal, ref: false }).then(() => {
    throw new Error('the store does not answer; it may be locked')
  })
  try {
    await Promise.race([work(AbortSignal.timeout(ms)), late])
  } finally {
    end.abort()
    late.catch(() => undefined)
  }
}

async function probe(entryOf: OpenEntry, signal: AbortSignal): Promise<void> {
  const entry = entryOf(SERVICE, 'probe')
  const value = randomUUID()
  await entry.setPassword(value, signal)
  const read = await entry.getPassword(signal)
  await entry.deleteCredential(signal)
  if (read !== value) throw new Error('the store is locked')
}

/** Loaded only when needed: a missing native library must not keep the app from starting. */
async function loadKeyring(): Promise<OpenEntry> {
  const { AsyncEntry } = await import('@napi-rs/keyring')
  return (service, account) => new AsyncEntry(service, account, { linux: { store: 'secret-service' } })
}
