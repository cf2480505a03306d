import { createHash } from 'node:crypto'
import { every } from '#base/every'
import {
  AppError,
  CONSOLE_SECRET_HEADER,
  createClient,
  createStreamPlaces,
  ORIGIN_SECRET_HEADER,
  isAppError,
  isToken,
  type Me,
  type UserId,
} from '#manager/contract'
import { type DirectPath } from '../dial/direct-path.ts'
import { type Proxy, startProxy } from '../index.ts'
import { type Log } from '../log.ts'
import { fetchByEnvironment } from '../network/environment-network.ts'
import { createOpenedThings, type OpenedThing, type OpenedThings } from './opened-things.ts'
import { createQuestions } from './questions.ts'
import { signInCookies } from './sign-in-cookies.ts'

export interface GuestsDeps {
  readonly managerUrl: string
  /** Proves to the manager that a console sends both halves; without it, a manager that has a secret refuses them. */
  readonly consoleSecret?: string | undefined
  readonly dataDir: string
  readonly sshDirectory?: string | undefined
  /** Address of the console. */
  readonly address: () => string
  readonly direct?: DirectPath | undefined
  readonly log: Log
  readonly now?: () => number
  /** How long a tunnel may outlive the sign-in that opened it, where this process does not hear of the sign-in's end. */
  readonly recheckMs?: number | undefined
}

/** Both halves of a browser's sign-in, as carried by a request; empty if there was none. */
export interface Credentials {
  readonly cookie: string
  readonly originSecret: string
}

export interface Guest {
  readonly me: Me
  readonly proxy: Proxy
  /** Records what this sign-in has opened, or shares with others: it is closed with the sign-in. */
  readonly noteOpened: (thing: OpenedThing) => void
}

export interface Guests extends AsyncDisposable {
  /**
   * The proxy of the user who signed in, started if necessary.
   *
   * @param address of the client
   * @throws AppError `not_signed_in`, `unavailable`
   */
  admit(credentials: Credentials, address: string): Promise<Guest>
  /** Call when this sign-in has ended; the user's tunnels close with the last one. */
  signedOut(credentials: Credentials): Promise<void>
  /**
   * Marks the guest as in use by an event stream until disposed. `onEnd` is called when this sign-in ends, or when the stream makes room
   * for one of another sign-in of the person.
   *
   * @throws AppError `rate_limited` if the sign-in or its person has too many streams
   */
  hold(guest: Guest, credentials: Credentials, onEnd: () => void): Disposable
}

interface Entry {
  readonly proxy: Promise<Proxy>
  /** SignInHeaders of each sign-in by their hash, latest last. */
  readonly signIns: Map<string, SignInHeaders>
  readonly opened: OpenedThings<SignInHeaders>
  held: number
  lastSeen: number
}

type SignInHeaders = Readonly<{ cookie: string; [ORIGIN_SECRET_HEADER]: string; [CONSOLE_SECRET_HEADER]?: string }>

/** Largest number of sign-ins kept per user. A client that sends ever new cookies beside the right one must not fill our memory. */
const MOST_SIGN_INS = 64
/** Largest number of tunnels per user, because all users share ports and descriptors. */
const MOST_TUNNELS = 256
/** Limits of questions about sign-ins that are not known here. */
const STRANGE = { atOnce: 16, waiting: 128 }
const CACHE_MS = 10_000
const RECHECK_MS = 10_000
const IDLE_MS = 10 * 60_000
const SWEEP_MS = 60_000

/**
 * Keeps a local proxy per signed-in user. The manager decides which user a sign-in belongs to (we ask at most every ten seconds per
 * sign-in); we only cache its answer.
 *
 * Threat model: both halves of a sign-in are kept in memory as long as its user has a proxy here, because grants are created with them.
 * They are sent to the manager only, which refuses one half without the other. Cookies of other programs on this computer, which browsers
 * send along to every port, are dropped; cookies that other programs set under our name match no origin secret. Anybody can invent
 * sign-ins: malformed ones are refused here, and only a few of the others are checked at a time (`questions.ts`). Known sign-ins do not
 * wait for them. All sign-ins of a person share one proxy. If a sign-in was abused and is ended, its tunnels must not stay open: what a
 * sign-in has opened ends with it (`opened-things.ts`).
 */
export function createGuests(deps: GuestsDeps): Guests {
  const now = deps.now ?? (() => performance.now())
  const known = new Map<string, { readonly me: Promise<Me>; readonly until: number }>()
  const entries = new Map<UserId, Entry>()
  const holders = new Map<string, Set<() => void>>()
  const places = createStreamPlaces()
  const strange = createQuestions(STRANGE)
  const sweep = every(SWEEP_MS, closeIdle, error =>
    deps.log.warn({ error: String(error) }, 'unused proxies stay open for now'),
  )
  const rechecking = every(deps.recheckMs ?? RECHECK_MS, recheck)

  async function identify(headers: SignInHeaders, key: string, address: string): Promise<Me> {
    if (headers.cookie === '' || !isToken(headers[ORIGIN_SECRET_HEADER])) throw new AppError('not_signed_in')
    const cached = known.get(key)
    if (cached && cached.until > now()) return await cached.me
    const isKnown = [...entries.values()].some(({ signIns }) => signIns.has(key))
    return await remembered(
      key,
      isKnown ? ask(deps.managerUrl, headers) : strange.ask(address, () => ask(deps.managerUrl, headers)),
    )
  }

  /** Caches an answer of the manager for a while, or drops a sign-in that has ended. */
  function remembered(key: string, me: Promise<Me>): Promise<Me> {
    known.set(key, { me, until: now() + CACHE_MS })
    me.catch((error: unknown) => {
      known.delete(key)
      if (isOver(error)) letGo(key)
    })
    return me
  }

  /** Ends everything that depends on this sign-in. */
  function letGo(key: string) {
    for (const onEnd of holders.get(key) ?? []) onEnd()
    holders.delete(key)
    for (const { signIns } of entries.values()) signIns.delete(key)
    void rechecking.now()
  }

  /**
   * Closes what ended sign-ins have opened: a sign-in whose page is closed does not report its end. Each check uses the cookies of that
   * time, because a cookie that another port has set since would fail without the sign-in having ended. If the manager does not answer,
   * nothing is closed.
   */
  async function recheck() {
    const all = [...entries.values()].flatMap(({ opened }) => opened.signIns().map(headers => ({ opened, headers })))
    await Promise.all(
      all.map(async ({ opened, headers }) => {
        try {
          await remembered(keyOf(headers), ask(deps.managerUrl, headers))
        } catch (error) {
          if (isOver(error)) opened.closeOf(headers[ORIGIN_SECRET_HEADER])
        }
      }),
    )
  }

  function start(userId: UserId): Entry {
    const signIns = new Map<string, SignInHeaders>()
    const { managerUrl, dataDir, sshDirectory, direct, log } = deps
    const proxy = startProxy({
      managerUrl,
      // There is one server, whose port may differ between starts.
      server: 'own',
      knownAs: deps.address,
      credentials: () => latestOf(signIns),
      dataDir,
      userId,
      mostTunnels: MOST_TUNNELS,
      direct,
      log,
      ...(sshDirectory ? { sshDirectory } : {}),
    })
    proxy.catch(() => entries.delete(userId))
    return { proxy, signIns, opened: createOpenedThings(proxy, log), held: 0, lastSeen: now() }
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
      const isUnused = (await proxy?.tunnel.list())?.length === 0 && (await proxy?.sftp.state()) === null
      if (isUnused) await close(userId)
    }
  }

  return {
    async admit(sent, address) {
      const headers = headersOf(sent, deps.consoleSecret)
      const key = keyOf(headers)
      const me = await identify(headers, key, address)
      const entry = entries.get(me.user.id) ?? start(me.user.id)
      entries.set(me.user.id, entry)
      entry.lastSeen = now()
      const isNew = !entry.signIns.delete(key)
      entry.signIns.set(key, headers)
      dropOldest(entry.signIns)
      const proxy = await entry.proxy
      // The user signed in again: connections that waited for it continue.
      if (isNew) proxy.wake()
      return { me, proxy, noteOpened: thing => entry.opened.note(headers[ORIGIN_SECRET_HEADER], headers, thing) }
    },
    async signedOut(sent) {
      // Find the sign-in by its origin secret: cookies set by another port may accompany one of its requests and not the next,
      // and would change its key.
      for (const [userId, { signIns, opened }] of entries) {
        const theirs = [...signIns].filter(([, headers]) => headers[ORIGIN_SECRET_HEADER] === sent.originSecret)
        for (const [key] of theirs) {
          known.delete(key)
          letGo(key)
        }
        opened.closeOf(sent.originSecret)
        if (theirs.length > 0 && signIns.size === 0) await close(userId)
      }
    },
    hold(guest, credentials, onEnd) {
      const entry = entries.get(guest.me.user.id)
      const key = keyOf(headersOf(credentials, deps.consoleSecret))
      const { originSecret } = credentials
      // Other cookies beside the right one do not make it another sign-in: its origin secret stays.
      const leave = places.take(originSecret, guest.me.user.id, onEnd)
      const ours = holders.get(key) ?? new Set()
      holders.set(key, ours.add(onEnd))
      if (entry) entry.held++
      return {
        [Symbol.dispose]() {
          leave()
          ours.delete(onEnd)
          if (ours.size === 0 && holders.get(key) === ours) holders.delete(key)
          if (!entry) return
          entry.held--
          entry.lastSeen = now()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([sweep, rechecking].map(repeated => repeated[Symbol.asyncDispose]()))
      await Promise.all([...entries.keys()].map(close))
    },
  }
}

/** @param consoleSecret proves to the manager that the request comes from its console */
function headersOf({ cookie, originSecret }: Credentials, consoleSecret: string | undefined): SignInHeaders {
  const proof = consoleSecret === undefined ? {} : { [CONSOLE_SECRET_HEADER]: consoleSecret }
  return { cookie: signInCookies(cookie), [ORIGIN_SECRET_HEADER]: originSecret, ...proof }
}

const keyOf = (headers: SignInHeaders) => createHash('sha256').update(JSON.stringify(headers)).digest('hex')

/** Asks the manager whose sign-in it is. @throws AppError `not_signed_in`, `unavailable` */
function ask(managerUrl: string, headers: SignInHeaders): Promise<Me> {
  const api = createClient({
    baseUrl: managerUrl,
    fetch: (url, init) => fetchByEnvironment(url, init as RequestInit),
    headers: () => headers,
  })
  return api.me({ signal: AbortSignal.timeout(10_000) })
}

/** Headers of the latest sign-in. @throws AppError `not_signed_in` */
function latestOf(signIns: ReadonlyMap<string, SignInHeaders>): Promise<SignInHeaders> {
  const latest = [...signIns.values()].at(-1)
  return latest ? Promise.resolve(latest) : Promise.reject(new AppError('not_signed_in'))
}

function dropOldest(signIns: Map<string, SignInHeaders>): void {
  for (const oldest of signIns.keys()) {
    if (signIns.size <= MOST_SIGN_INS) break
    signIns.delete(oldest)
  }
}

const isOver = (error: unknown) => isAppError(error) && error.code === 'not_signed_in'
