import { randomUUID } from 'node:crypto'
import { createMemoryCredentials, type CredentialStore } from './credential-store.ts'

const SERVICE = 'berth'
const PROBE_TIMEOUT_MS = 10_000

/** The part of `@napi-rs/keyring` used here. */
export interface KeyringEntry {
  setPassword(password: string, signal?: AbortSignal): Promise<void>
  getPassword(signal?: AbortSignal): Promise<string | null>
  deleteCredential(signal?: AbortSignal): Promise<boolean>
}
export type OpenEntry = (service: string, account: string) => KeyringEntry

/**
 * The operating system's credential store: Keychain, Credential Manager, or the Secret Service on Linux. Linux is pinned to the
 * Secret Service, because the library would otherwise fall back to the kernel keyring, which a restart empties. A locked store
 * answers reads with "absent", so it counts as usable only after a value was written and read back. If it is not usable, the
 * token stays in memory, and the user is told; there is no fallback to a file.
 */
export async function openKeyringCredentials(openEntry?: OpenEntry): Promise<CredentialStore> {
  try {
    const entryOf = openEntry ?? (await loadKeyring())
    await probe(entryOf)
    return {
      persistent: true,
      reason: null,
      get: endpoint => entryOf(SERVICE, endpoint).getPassword(),
      set: (endpoint, token) => entryOf(SERVICE, endpoint).setPassword(token),
      delete: async endpoint => {
        await entryOf(SERVICE, endpoint).deleteCredential()
      },
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return createMemoryCredentials(
      `The credential store of this computer does not work, so you have to sign in again after quitting. (${why})`,
    )
  }
}

async function probe(entryOf: OpenEntry): Promise<void> {
  const entry = entryOf(SERVICE, 'probe')
  const value = randomUUID()
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS)
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
