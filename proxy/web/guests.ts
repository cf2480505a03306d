import { createHash } from 'node:crypto'
import { AppError, CSRF_HEADER, createClient, isAppError, type Me, type UserId } from '#manager/contract'
import { type Proxy, startProxy } from '../index.ts'
import { type Log } from '../log.ts'

export interface GuestsDeps {
  readonly managerUrl: string
  readonly dataDir: string
  readonly sshDirectory?: string | undefined
  readonly log: Log
  readonly now?: () => number
}

/** How a request said who it is. */
export interface Credentials {
  readonly cookie: string
  /** The name the browser used: part of the cookie's name is its port. */
  readonly host: string
  /** How it left the browser: the cookie's name depends on it where the host has no port. */
  readonly scheme: 'http' | 'https'
}

export interface Guest {
  readonly me: Me
  readonly proxy: Proxy
}

export interface Guests extends AsyncDisposable {
  /** The proxy of the user who sent this cookie, started if need be. @throws AppError `not_signed_in`, `unavailable` */
  admit(credentials: Credentials): Promise<Guest>
  /** This sign-in has ended; with a user's last one go the tunnels. */
  signedOut(credentials: Credentials): Promise<void>
  /** Something of the guest is in use (an event stream) until it is disposed of; hears when this sign-in has ended. */
  hold(guest: Guest, credentials: Credentials, onSignedOut: () => void): Disposable
}

interface Entry {
  readonly proxy: Promise<Proxy>
  /** Headers of each sign-in by cookie hash, the latest last. */
  readonly signIns: Map<string, Record<string, string>>
  held: number
  lastSeen: number
}

const CACHE_MS = 10_000
const IDLE_MS = 10 * 60_000
const SWEEP_MS = 60_000

/**
 * One local proxy per signed-in user. The manager decides who a cookie belongs to (asked at most every ten seconds per
 * cookie); we only keep its answer.
 *
 * Threat model: cookies are kept in memory as long as their user has a proxy here, because grants are made with them. They
 * go to the manager only. Cookies of other programs on this computer, which browsers send along to every port, are dropped.
 */
export function createGuests(deps: GuestsDeps): Guests {
  const now = deps.now ?? (() => performance.now())
  const known = new Map<string, { readonly me: Promise<Me>; readonly until: number }>()
  const entries = new Map<UserId, Entry>()
  const holders = new Map<string, Set<() => void>>()
  const sweep = setInterval(() => void closeIdle(), SWEEP_MS)
  sweep.unref()

  function headersOf({ cookie, host, scheme }: Credentials): Record<string, string> {
    const ours = cookie
      .split(';')
      .filter(pair => pair.trim().startsWith('berth_') && !pair.trim().startsWith('berth_app_'))
    return {
      cookie: ours.map(pair => pair.trim()).join('; '),
      'x-forwarded-host': host,
      'x-forwarded-proto': scheme,
    }
  }

  const keyOf = (headers: Record<string, string>) => createHash('sha256').update(JSON.stringify(headers)).digest('hex')

  async function identify(headers: Record<string, string>, key: string): Promise<Me> {
    if (headers.cookie === '') throw new AppError('not_signed_in')
    const cached = known.get(key)
    if (cached && cached.until > now()) return await cached.me
    const api = createClient({
      baseUrl: deps.managerUrl,
      fetch: (url, init) => fetch(url, init as RequestInit),
      headers: () => headers,
    })
    const me = api.me({ signal: AbortSignal.timeout(10_000) })
    known.set(key, { me, until: now() + CACHE_MS })
    me.catch((error: unknown) => {
      known.delete(key)
      if (isAppError(error) && error.code === 'not_signed_in') letGo(key)
    })
    return await me
  }

  /** What hangs on this sign-in ends with it. */
  function letGo(key: string) {
    for (const onSignedOut of holders.get(key) ?? []) onSignedOut()
    holders.delete(key)
    for (const { signIns } of entries.values()) signIns.delete(key)
  }

  function start(userId: UserId): Entry {
    const signIns = new Map<string, Record<string, string>>()
    const credentials = () => {
      const latest = [...signIns.values()].at(-1)
      return latest ? Promise.resolve(latest) : Promise.reject(new AppError('not_signed_in'))
    }
    const { managerUrl, dataDir, sshDirectory, log } = deps
    const proxy = startProxy({
      managerUrl,
      credentials,
      dataDir,
      userId,
      log,
      ...(sshDirectory ? { sshDirectory } : {}),
    })
    proxy.catch(() => entries.delete(userId))
    return { proxy, signIns, held: 0, lastSeen: now() }
  }

  async function close(userId: UserId) {
    const entry = entries.get(userId)
    entries.delete(userId)
    await (await entry?.proxy.catch(() => undefined))?.[Symbol.asyncDispose]()
  }

  async function closeIdle() {
    for (const [key, { until }] of known) if (until <= now()) known.delete(key)
    for (const [userId, entry] of entries) {
      if (entry.held > 0 || now() - entry.lastSeen < IDLE_MS) continue
      const proxy = await entry.proxy.catch(() => undefined)
      if ((await proxy?.tunnel.list())?.length === 0) await close(userId)
    }
  }

  return {
    async admit(sent) {
      const headers = headersOf(sent)
      const key = keyOf(headers)
      const me = await identify(headers, key)
      const entry = entries.get(me.user.id) ?? start(me.user.id)
      entries.set(me.user.id, entry)
      entry.lastSeen = now()
      const isNew = !entry.signIns.delete(key)
      entry.signIns.set(key, { ...headers, [CSRF_HEADER]: me.csrf })
      const proxy = await entry.proxy
      // Signed in again: connections that waited for it go on.
      if (isNew && entry.signIns.size > 0) proxy.wake()
      return { me, proxy }
    },
    async signedOut(sent) {
      const key = keyOf(headersOf(sent))
      known.delete(key)
      const theirs = [...entries].filter(([, { signIns }]) => signIns.has(key))
      letGo(key)
      for (const [userId, { signIns }] of theirs) if (signIns.size === 0) await close(userId)
    },
    hold(guest, credentials, onSignedOut) {
      const entry = entries.get(guest.me.user.id)
      const key = keyOf(headersOf(credentials))
      const ours = holders.get(key) ?? new Set()
      holders.set(key, ours.add(onSignedOut))
      if (entry) entry.held++
      return {
        [Symbol.dispose]() {
          ours.delete(onSignedOut)
          if (ours.size === 0 && holders.get(key) === ours) holders.delete(key)
          if (!entry) return
          entry.held--
          entry.lastSeen = now()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(sweep)
      await Promise.all([...entries.keys()].map(close))
    },
  }
}
