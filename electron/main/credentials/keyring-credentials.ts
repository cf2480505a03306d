import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { within } from '#base/within'
import { type CredentialStore } from './credential-store.ts'

const SERVICE = 'berth'
/** A locked store may ask the user to unlock it, and answers after that, or never: this limits each call to the store. */
const STORE_TIMEOUT_MS = 15_000
/** Longest wait for the store, for the page's first answer and for a sign-in. The store may answer later. */
const WAIT_MS = 2_000

/** The part of `@napi-rs/keyring` used here. */
export interface KeyringEntry {
  setPassword(password: string, signal?: AbortSignal): Promise<void>
  getPassword(signal?: AbortSignal): Promise<string | null>
  deleteCredential(signal?: AbortSignal): Promise<boolean>
}
export type OpenEntry = (service: string, account: string) => KeyringEntry

export interface KeyringDeps {
  /** Called when a sign-in is kept in memory only, with the text of the store. */
  readonly onUnusable: (why: string) => void
  /** Called when a sign-in has been stored. */
  readonly onKept?: () => void
  readonly openEntry?: OpenEntry
  readonly storeTimeoutMs?: number
  readonly waitMs?: number
}

/**
 * The operating system's credential store: Keychain, Credential Manager, or the Secret Service on Linux. Linux is pinned to the Secret
 * Service, because the library would otherwise fall back to the kernel keyring, which a restart empties. A locked store answers reads with
 * "absent", or does not answer, so it counts as usable only after a value was written and read back in time. If it is not usable, a token
 * stays in memory, and the user is told; there is no fallback to a file. If the user unlocks the store later, tokens in memory are stored
 * then. Each sign-in also tries again.
 *
 * The store is not touched before the first call, and no call waits long: a store that hangs blocks neither the window nor a sign-in. Calls
 * to it run one after the other, in the background if necessary.
 */
export function createKeyringCredentials({
  onUnusable,
  onKept,
  openEntry,
  storeTimeoutMs = STORE_TIMEOUT_MS,
  waitMs = WAIT_MS,
}: KeyringDeps): CredentialStore {
  /** Tokens that are not in the store, by endpoint. */
  const memory = new Map<string, string>()
  /** Callers of `get` who got null because the store did not answer in time. */
  const waiting = new Map<string, (token: string) => void>()
  let probed: Promise<Probed> | undefined
  let isUnusable = false

  const check = async (): Promise<Probed> => {
    try {
      const entryOf = openEntry ?? (await loadKeyring())
      const probing = probe(entryOf)
      let isLate = false
      void probing.then(
        () => {
          if (isLate) onUnlocked(entryOf)
        },
        () => undefined, // like an answer in time
      )
      await inTime(storeTimeoutMs, () => probing).catch((error: unknown) => {
        isLate = true
        throw error
      })
      isUnusable = false
      return { entryOf }
    } catch (error) {
      isUnusable = true
      return { why: textOf(error) }
    }
  }
  const found = () => (probed ??= check())
  let latest: Promise<unknown> = Promise.resolve()
  /** Calls the store after earlier calls have ended. */
  const inTurn = <T>(work: (probed: Probed) => Promise<T>): Promise<T> => {
    const result = latest.then(async () => work(await found()))
    latest = result.catch(() => undefined)
    return result
  }
  const entry = (entryOf: OpenEntry, endpoint: string) => entryOf(SERVICE, endpoint)

  /** Called when the user has unlocked a store that did not answer before. */
  function onUnlocked(entryOf: OpenEntry): void {
    isUnusable = false
    probed = Promise.resolve({ entryOf })
    for (const [endpoint, token] of memory) void inTurn(probe => keep(endpoint, token, probe))
    for (const [endpoint, onLate] of waiting) {
      waiting.delete(endpoint)
      if (memory.has(endpoint)) continue
      void read(endpoint).then(kept => (kept === null ? undefined : onLate(kept)))
    }
  }

  const read = (endpoint: string): Promise<string | null> =>
    inTurn(async ({ entryOf }) => {
      if (!entryOf) return null
      const kept = await inTime(storeTimeoutMs, signal => entry(entryOf, endpoint).getPassword(signal))
      return kept ?? null
    }).catch(() => null)

  async function keep(endpoint: string, token: string, { entryOf, why = '' }: Probed): Promise<void> {
    // Another sign-in or a sign-out has come in the meantime.
    if (memory.get(endpoint) !== token) return
    try {
      if (!entryOf) throw new Error(why)
      await inTime(storeTimeoutMs, signal => entry(entryOf, endpoint).setPassword(token, signal))
      if (memory.get(endpoint) === token) memory.delete(endpoint)
      onKept?.()
    } catch (error) {
      onUnusable(textOf(error))
    }
  }

  return {
    async get(endpoint, onLate) {
      const token = memory.get(endpoint)
      if (token !== undefined) return token
      const reading = read(endpoint)
      const quick = await Promise.race([reading, delay(waitMs, undefined, { ref: false })])
      if (quick !== undefined) return quick
      if (onLate)
        void reading.then(kept => {
          if (kept !== null) onLate(kept)
          else if (isUnusable) waiting.set(endpoint, onLate)
        })
      return null
    },
    async set(endpoint, token) {
      waiting.delete(endpoint)
      memory.set(endpoint, token)
      if (isUnusable) probed = undefined
      const kept = inTurn(probe => keep(endpoint, token, probe))
      await Promise.race([kept, delay(waitMs, undefined, { ref: false })])
    },
    async delete(endpoint) {
      waiting.delete(endpoint)
      memory.delete(endpoint)
      const gone = inTurn(async ({ entryOf }) => {
        if (entryOf) await inTime(storeTimeoutMs, signal => entry(entryOf, endpoint).deleteCredential(signal))
      }).catch((error: unknown) => onUnusable(textOf(error)))
      await Promise.race([gone, delay(waitMs, undefined, { ref: false })])
    },
  }
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** Result of a probe of the store: either of the two fields. */
interface Probed {
  readonly entryOf?: OpenEntry
  readonly why?: string
}

/** Rejects in time also where the library ignores the signal, as it does once a native call has begun. */
const inTime = <T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  within(ms, work(AbortSignal.timeout(ms)), () => new Error('the store does not answer; it may be locked'))

/** Has no time limit: it ends when the user has answered the system's dialog. */
async function probe(entryOf: OpenEntry): Promise<void> {
  const entry = entryOf(SERVICE, 'probe')
  const value = randomUUID()
  await entry.setPassword(value)
  const read = await entry.getPassword()
  await entry.deleteCredential()
  if (read !== value) throw new Error('the store is locked')
}

/** Loaded only when needed: a missing native library must not keep the app from starting. */
async function loadKeyring(): Promise<OpenEntry> {
  const { AsyncEntry } = await import('@napi-rs/keyring')
  return (service, account) => new AsyncEntry(service, account, { linux: { store: 'secret-service' } })
}
