import { createHash, randomBytes } from 'node:crypto'
import {
  type AdmittedVisitor,
  AppError,
  type AppsAddress,
  because,
  type Grant,
  type OpenAppSpec,
  type OpenedApp,
  originOfApp,
  PUBLIC_OPEN_PATH,
  type ServedApp,
  type SessionId,
} from '#manager/contract'
import { findTunnelApp } from '../images/apps.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { requireEnterable } from '../sessions/require-session.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { takenPorts, whilePortsStay } from '../store/sessions/app-ports.ts'
import {
  deleteOwnApps,
  extendOwnApp,
  findOwnApp,
  findOwnAppAt,
  insertAppTicket,
  insertOwnApp,
  isLoginOf,
  type OwnAppKey,
  type OwnAppRow,
  takeAppTicket,
} from '../store/sessions/own-apps.ts'
import { findSession } from '../store/sessions/sessions.ts'
import { type Caller } from '../users/authorize.ts'
import { hashToken } from '../users/secrets.ts'
import { choosePort } from './app-ports.ts'
import { type Grants } from './grants.ts'

/**
 * Web apps of sessions for browsers on other computers, at the address of apps.
 *
 * Threat model: nothing here is open to strangers. A place (a host name or a port) belongs to one person, one session and one app, and
 * its name is no secret. A browser enters with a ticket of 256 bits, which only a signed-in person who may use the session gets;
 * it is stored as a hash, is good once, for a minute, at its own place. The console then gives the browser a cookie that names the
 * sign-in and is signed with a MAC of the place. No cookie gives a right by itself: for each grant the sign-in, the person's right to
 * use the session and the session are looked up again, and the grant ends with each of them as every grant does (`grants.ts`). A
 * person can give away a ticket, which lets one browser use the app as that person until the sign-in ends; a published link is the
 * better way.
 */
export interface OwnApps {
  /**
   * @throws `session_not_found`, `forbidden`, `app_not_found`, `session_not_running`, `bad_request`, `apps_address_missing`,
   *   `public_port_taken`
   */
  open(caller: Caller, target: { readonly id: SessionId; readonly app: string }, spec: OpenAppSpec): Promise<OpenedApp>
  /** For the console: the app at a place; undefined if no person has one there. */
  serve(place: string): Promise<ServedApp | undefined>
  /** For the console. @throws `published_app_not_found`, `public_link_refused` */
  redeem(place: string, ticket: string): Promise<AdmittedVisitor>
  /** For the console. @throws `published_app_not_found`, also if sign-in or right have ended; those of `Grants.create` */
  grant(place: string, visitor: string, signal: AbortSignal): Promise<Grant>
}

export interface OwnAppsDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly grants: Pick<Grants, 'createFor'>
  /** Undefined where no address for apps is configured. */
  readonly address: AppsAddress | undefined
}

/** A place is kept for this long after it was opened last; cookies last as long at most. */
const LIFETIME_MS = 24 * 3_600_000
const TICKET_MS = 60_000
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

  /** The person's place of an app: the one that is there, or a new one. Another session or person never had its name. */
  async function placeFor(to: AppsAddress, key: OwnAppKey): Promise<OwnAppRow> {
    return await whilePortsStay(db, async trx => {
      const known = await findOwnApp(trx, key)
      if (known && isAt(to, known)) {
        await extendOwnApp(trx, known.id, LIFETIME_MS)
        return known
      }
      await deleteOwnApps(trx, key)
      const id = newUuid()
      const digest = createHash('sha256')
        .update(box.mac([key.session_id, key.app, key.user_id].join('\n'), NAME))
        .digest()
      const wanted = to.kind === 'ports' ? to.first + (digest.readUInt32BE(16) % (to.last - to.first + 1)) : undefined
      const port = choosePort(to, await takenPorts(trx), wanted)
      if (port === undefined) throw new AppError('public_port_taken', because('ports_taken'))
      await insertOwnApp(trx, { id, ...key, name: nameOf(digest), port, lifetimeMs: LIFETIME_MS })
      const made = await findOwnApp(trx, key)
      // The session or the right to it ended meanwhile.
      if (!made) throw new AppError('session_not_running', { sessionId: key.session_id })
      return made
    })
  }

  return {
    async open(caller, { id: sessionId, app: name }, { path }) {
      const session = await requireEnterable(db, caller, sessionId, 'only_members_open_apps')
      const { userId, loginId } = caller
      if (!address) throw new AppError('apps_address_missing', because('apps_without_address'))
      if (loginId === null) throw new AppError('bad_request', because('browser_needs_sign_in'))
      const app = findTunnelApp(session, name)
      if (!app) throw new AppError('app_not_found', { app: name, ...because('app_unknown', { app: name }) })
      if (app.protocol !== 'http') throw new AppError('bad_request', because('only_web_apps', { app: name }))
      if (session.status !== 'RUNNING') {
        throw new AppError('session_not_running', { sessionId, ...because('session_is', { status: session.status }) })
      }
      const row = await placeFor(address, { session_id: sessionId, app: name, user_id: userId })
      const ticket = randomBytes(32).toString('base64url')
      await insertAppTicket(db, { hash: hashToken(ticket), ownApp: row.id, loginId, lifetimeMs: TICKET_MS })
      const origin = originOfApp(address, row)
      const query = new URLSearchParams({ ticket, ...(path === undefined ? {} : { to: path }) })
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
    async redeem(place, ticket) {
      const row = await find(place)
      const visitor = await takeAppTicket(db, hashToken(ticket), row.id)
      if (visitor === undefined || !(await isLoginOf(db, visitor, row.user_id))) {
        throw new AppError('public_link_refused', { reason: 'ticket' })
      }
      return { visitor, expiresAt: row.expires_at.toISOString() }
    },
    async grant(place, visitor, signal) {
      const row = await find(place)
      const { user_id: userId, session_id: sessionId, app } = row
      if (!(await isLoginOf(db, visitor, userId))) throw new AppError('published_app_not_found')
      return await grants.createFor({ userId, loginId: visitor }, { sessionId, app }, signal)
    },
  }
}

/** Whether a place still fits the address, which administrators may have changed. */
function isAt(address: AppsAddress, { port }: Pick<OwnAppRow, 'port'>): boolean {
  if (address.kind === 'names') return port === null
  return port !== null && port >= address.first && port <= address.last
}

/** 16 characters of base32: the label of a host name, as those of published apps. */
const nameOf = (digest: Buffer) => [...digest.subarray(0, 16)].map(byte => LETTERS.charAt(byte & 31)).join('')
