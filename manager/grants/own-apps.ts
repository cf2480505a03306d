import { createHash, randomBytes } from 'node:crypto'
import { defined } from '#base/defined'
import {
  type AdmittedVisitor,
  AppError,
  type AppsAddress,
  because,
  type Grant,
  isWebApp,
  type OpenAppSpec,
  type OpenedApp,
  originOfApp,
  PUBLIC_OPEN_PATH,
  type ServedApp,
  type SessionId,
  type UserId,
} from '#manager/contract'
import { findTunnelApp } from '../images/apps.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { requireEnterable } from '../sessions/require-session.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { knownPorts, type PortsKnown, replaceClosedPorts, whilePortsStay } from '../store/sessions/app-ports.ts'
import { isTokenOf } from '../store/identity/logins.ts'
import {
  countOwnAppsOf,
  deleteEndedOwnApps,
  deleteOwnApp,
  deleteUnusedOwnApp,
  extendOwnApp,
  findOwnApp,
  findOwnAppAt,
  findTicketHolder,
  insertAppTicket,
  insertOwnApp,
  isLoginOf,
  type OwnAppKey,
  type OwnAppRow,
  takeAppTicket,
} from '../store/sessions/own-apps.ts'
import { findSession } from '../store/sessions/sessions.ts'
import { type Caller } from '../users/authorize.ts'
import { browserToken, hashToken } from '../users/secrets.ts'
import { choosePort, countPortsOf, portsPerUser } from './app-ports.ts'
import { type Grants } from './grants.ts'

/**
 * Web apps of sessions for browsers on other computers, at the address of apps.
 *
 * Threat model: nothing here is open to strangers. An address (a host name or a port) belongs to one person, one session and one app, and
 * is not secret. A browser enters with a ticket of 256 bits, which only a signed-in person who may use the session gets; it is stored as a
 * hash, and valid once, for a minute, at its own address. The console then gives the browser a cookie that names the sign-in and is signed
 * with a MAC of the address. The cookie alone gives no rights: for each grant the sign-in, the person's right to use the session and the
 * session are checked again, and the grant ends with each of them like every grant (`grants.ts`). A person can give away a ticket, which
 * lets one browser use the app as that person until the sign-in ends; a published link is the better way. An attacker could also make
 * somebody open the attacker's ticket, who would then type into the attacker's app (login CSRF): so a browser without the console's cookie
 * that requested the ticket is asked first, and shown the name of the ticket's person.
 */
export interface OwnApps {
  /**
   * @throws `session_not_found`, `forbidden`, `app_not_found`, `session_not_running`, `bad_request`, `apps_address_missing`,
   *   `public_port_taken`
   * @param browser the sign-in of the browser that asks; undefined for a program
   */
  open(
    caller: Caller,
    target: { readonly id: SessionId; readonly app: string },
    how: { readonly spec: OpenAppSpec; readonly browser: AskingBrowser | undefined },
  ): Promise<OpenedApp>
  /** For the console: the app at an address; undefined if no person has one there. */
  serve(place: string): Promise<ServedApp | undefined>
  /** For the console. @throws `published_app_not_found`, `public_link_refused` */
  redeem(place: string, shown: ShownTicket): Promise<AdmittedVisitor>
  /** For the console. @throws `published_app_not_found`, also if sign-in or right have ended; those of `Grants.create` */
  grant(place: string, visitor: string, signal: AbortSignal): Promise<Grant>
  /** For the console: reports ports of the range at which it does not listen. No app gets them. */
  reportPorts(console: string, closed: readonly number[]): Promise<void>
  /** Releases the addresses of sessions that have ended. */
  endOfSessions(): Promise<void>
}

/**
 * Both halves of a browser's sign-in, as its request had them (`http/browser-sign-in.ts`).
 *
 * Threat model: the sender of the request chooses cookies and Host, and a program at another port of the console's host can set cookies in
 * other people's browsers. So only the cookie counts that has the name for the configured address of the console.
 */
export interface AskingBrowser {
  readonly cookies: readonly string[]
  readonly originSecret: string
  /** The console as configured: its host name, without port, and the name of its cookie. */
  readonly console: { readonly host: string; readonly cookieName: string }
}

export interface ShownTicket {
  readonly ticket: string
  /** Cookies that may belong to the console's sign-in, each `name=value`. */
  readonly cookies: readonly string[]
  /** True if the person has seen whose app it is. */
  readonly isConfirmed: boolean
}

export interface OwnAppsDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly grants: Pick<Grants, 'createFor'>
  /** Undefined if no address for apps is configured. */
  readonly address: AppsAddress | undefined
}

/** Time that an address is kept after it was last opened; also the longest lifetime of cookies. */
const LIFETIME_MS = 24 * 3_600_000
const TICKET_MS = 60_000
/** Limit of addresses of one person if apps have names, which cost nothing but rows. */
const MOST_NAMES = 200
const COOKIES = 'own app: cookies'
const NAME = 'own app: name'
const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'

export function createOwnApps({ store, box, grants, address }: OwnAppsDeps): OwnApps {
  const { db } = store

  async function find(place: string): Promise<OwnAppRow> {
    const row = address && (await findOwnAppAt(db, place))
    if (!row) throw new AppError('published_app_not_found')
    return row
  }

  /** The person's address of an app: the existing one, or a new one, whose name no other session or person has ever had. */
  async function placeFor(to: AppsAddress, key: OwnAppKey): Promise<OwnAppRow> {
    return await whilePortsStay(db, async trx => {
      const ports = await knownPorts(trx)
      const known = await findOwnApp(trx, key)
      if (known && isAt(to, known) && !ports.closed.has(known.port ?? 0)) {
        await extendOwnApp(trx, known.id, LIFETIME_MS)
        return known
      }
      if (known) await deleteOwnApp(trx, known.id)
      await makeRoom(trx, to, { userId: key.user_id, ports: await knownPorts(trx) })
      const id = newUuid()
      const digest = createHash('sha256')
        .update(box.mac([key.session_id, key.app, key.user_id].join('\n'), NAME))
        .digest()
      const wanted = to.kind === 'ports' ? to.first + (digest.readUInt32BE(16) % (to.last - to.first + 1)) : undefined
      const asked = { userId: key.user_id, sessionId: key.session_id, wanted, nowMs: store.now() }
      const port = choosePort(to, await knownPorts(trx), asked)
      if (port === 'taken' || port === 'resting') {
        throw new AppError('public_port_taken', because(port === 'taken' ? 'ports_taken' : 'ports_resting'))
      }
      await insertOwnApp(trx, { id, ...key, name: nameOf(digest), port, lifetimeMs: LIFETIME_MS })
      const made = await findOwnApp(trx, key)
      // The session, or the right to it, ended meanwhile.
      if (!made) throw new AppError('session_not_running', { sessionId: key.session_id })
      return made
    })
  }

  /** Limits a person to a share of the ports: addresses that no browser uses are released first. @throws `public_port_taken` */
  async function makeRoom(
    trx: Db,
    to: AppsAddress,
    { userId, ports }: { readonly userId: UserId; readonly ports: PortsKnown },
  ): Promise<void> {
    const most = to.kind === 'ports' ? portsPerUser(to) : MOST_NAMES
    const held = to.kind === 'ports' ? countPortsOf(ports, userId) : await countOwnAppsOf(trx, userId)
    if (held < most || (await deleteUnusedOwnApp(trx, userId))) return
    throw new AppError('public_port_taken', because('ports_at_most', { count: most }))
  }

  /**
   * Hash of name and value of the cookie with which the browser signed in; other ports may have set further cookies of the same name. Null
   * if the app does not get this cookie from the browser: away from the host of the console.
   */
  async function browserHashOf(loginId: string, browser: AskingBrowser | undefined): Promise<Buffer | null> {
    if (!browser || address?.kind !== 'ports' || address.host !== browser.console.host) return null
    for (const cookie of browser.cookies) {
      const token = hashToken(browserToken(cookie, browser.originSecret))
      if (await isTokenOf(db, loginId, token)) return hashToken(`${browser.console.cookieName}=${cookie}`)
    }
    return null
  }

  return {
    async open(caller, { id: sessionId, app: name }, { spec: { path }, browser }) {
      const session = await requireEnterable(db, caller, sessionId, 'only_members_open_apps')
      const { userId, loginId } = caller
      if (!address) throw new AppError('apps_address_missing', because('apps_without_address'))
      if (loginId === null) throw new AppError('bad_request', because('browser_needs_sign_in'))
      const app = findTunnelApp(session, name)
      if (!app) throw new AppError('app_not_found', { app: name, ...because('app_unknown', { app: name }) })
      if (!isWebApp(app)) throw new AppError('bad_request', because('only_web_apps', { app: name }))
      if (session.status !== 'RUNNING') {
        throw new AppError('session_not_running', { sessionId, ...because('session_is', { status: session.status }) })
      }
      const row = await placeFor(address, { session_id: sessionId, app: name, user_id: userId })
      const ticket = randomBytes(32).toString('base64url')
      const browserHash = await browserHashOf(loginId, browser)
      await insertAppTicket(db, {
        hash: hashToken(ticket),
        ownApp: row.id,
        loginId,
        browserHash,
        lifetimeMs: TICKET_MS,
      })
      const origin = originOfApp(address, row)
      const query = new URLSearchParams({ ticket, ...defined({ to: path }) })
      return { url: `${origin}${PUBLIC_OPEN_PATH}?${query.toString()}`, origin }
    },

    async serve(place) {
      const row = address && (await findOwnAppAt(db, place))
      const session = row && (await findSession(db, row.session_id))
      const app = session && findTunnelApp(session, row.app)
      if (!app) return undefined
      return {
        id: row.id,
        name: row.name,
        port: row.port,
        sessionId: row.session_id,
        sessionName: session.name,
        app: row.app,
        title: app.title,
        path: app.path,
        admits: 'tickets',
        needsPassword: false,
        addresses: [],
        expiresAt: row.expires_at.toISOString(),
        visitSecret: box.mac(row.id, COOKIES),
      }
    },
    async redeem(place, { ticket, cookies, isConfirmed }) {
      const row = await find(place)
      const hash = hashToken(ticket)
      const browsers = isConfirmed ? 'any' : cookies.map(hashToken)
      const visitor = await takeAppTicket(db, { hash, ownApp: row.id, browsers })
      if (visitor === undefined) {
        const user = isConfirmed ? undefined : await findTicketHolder(db, hash, row.id)
        throw new AppError(
          'public_link_refused',
          user === undefined ? { reason: 'ticket' } : { reason: 'unconfirmed', user },
        )
      }
      if (!(await isLoginOf(db, visitor, row.user_id))) throw new AppError('public_link_refused', { reason: 'ticket' })
      return { visitor, expiresAt: row.expires_at.toISOString() }
    },
    async grant(place, visitor, signal) {
      const row = await find(place)
      const { user_id: userId, session_id: sessionId, app } = row
      if (!(await isLoginOf(db, visitor, userId))) throw new AppError('published_app_not_found')
      return await grants.createFor({ userId, loginId: visitor }, { sessionId, app }, signal)
    },
    reportPorts: (consoleName, closed) => replaceClosedPorts(db, consoleName, closed),
    endOfSessions: () => deleteEndedOwnApps(db),
  }
}

/** Whether an address still fits the configured address of apps, which administrators may have changed. */
function isAt(address: AppsAddress, { port }: Pick<OwnAppRow, 'port'>): boolean {
  if (address.kind === 'names') return port === null
  return port !== null && port >= address.first && port <= address.last
}

/** 16 characters of base32: the label of a host name, like those of published apps. */
const nameOf = (digest: Buffer) => [...digest.subarray(0, 16)].map(byte => LETTERS.charAt(byte & 31)).join('')
