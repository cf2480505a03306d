import { randomBytes } from 'node:crypto'
import { BlockList } from 'node:net'
import {
  AppError,
  because,
  type AppsAddress,
  isWebApp,
  originOfApp,
  PUBLIC_OPEN_PATH,
  type PublishedApp,
  PublishedAppId,
  type Publishing,
  type PublishSpec,
  type SessionId,
} from '#manager/contract'
import { NO_PEERS, type Peers } from '../cluster/peers.ts'
import { choosePort, countPortsOf, portsPerUser } from './app-ports.ts'
import { createLinkEnds, type LinkEnds } from './link-ends.ts'
import { createLinkVisits, KEY, type LinkVisits } from './link-visits.ts'
import { type Grants } from './grants.ts'
import { findTunnelApp } from '../images/apps.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { requireOwn } from '../sessions/require-session.ts'
import { type Settings } from '../settings/settings.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import {
  countPublishedOf,
  deleteEnded,
  deletePublished,
  findPublished,
  insertPublished,
  listPublished,
  type PublishedRow,
} from '../store/sessions/published-apps.ts'
import { knownPorts, whilePortsStay } from '../store/sessions/app-ports.ts'
import { deleteUnusedOwnApp } from '../store/sessions/own-apps.ts'
import { noteUsedByOthers } from '../store/sessions/session-shares.ts'
import { findSession, lockSession } from '../store/sessions/sessions.ts'
import { type Caller, canSee, visibleTo } from '../users/authorize.ts'
import { type Logins } from '../users/logins.ts'
import { type Passwords, personAsking } from '../users/passwords.ts'
import { holdSignedIn } from '../users/still-authorized.ts'

/**
 * Links that open a web app of a session to people without an account.
 *
 * Threat model: anybody may hold a link, pass it on, or guess one. A link names a random address (a host name or a port) and contains a key
 * of 256 bits, which is a MAC of the link's id under the master key: nothing in the database opens a link. Passwords are hashed like those
 * of accounts, and guesses are delayed more and more, per link and per address. A visitor reaches only this app, with the rights that the
 * app gives: JupyterLab gives a shell in the session. Visitors get no credentials of Berth: grants and the app's own secret stay in the
 * console's process. A link is a credential like a sign-in: its grants and tunnels end with it, at every manager, when it is withdrawn or
 * expires (whoever shows the key, or a cookie of a visit, learns which), when its session ends, when its owner or the owner's domain is deactivated, and when the administrators switch publishing off.
 * Only the owner of a session publishes its apps, and only while the administrators allow it. Files and programs of visitors with a shell
 * stay in the session, so it is marked as used by others: from then on no dot-folder, which each session of the owner mounts, is added to
 * it. One that is mounted already stays, and the guide warns of this: links for apps without a shell are as common.
 */
export interface PublishedApps extends LinkVisits, Omit<LinkEnds, 'end'> {
  /**
   * @throws `publishing_off`, `session_not_found`, `forbidden`, `app_not_found`, `session_not_running`, `bad_request`,
   *   `weak_password`, `published_apps_limit`, `public_port_taken`
   */
  publish(
    caller: Caller,
    target: { readonly id: SessionId; readonly app: string },
    spec: PublishSpec,
  ): Promise<PublishedApp>
  list(caller: Caller, sessionId?: SessionId): Promise<{ items: PublishedApp[]; publishing: Publishing }>
  /** @returns how many connections of visitors ended here @throws `published_app_not_found` */
  unpublish(caller: Caller, id: PublishedAppId): Promise<{ readonly connections: number }>
  /** Ends all links, because the administrators have switched publishing off. */
  endAll(): Promise<void>
  /** Ends the links of a session that has ended. */
  endOfSession(id: SessionId): Promise<void>
}

export interface PublishedAppsDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly passwords: Passwords
  readonly settings: Pick<Settings, 'read'>
  readonly grants: Pick<Grants, 'createFor'>
  /** Tells that accounts or domains may have changed. */
  readonly logins: Pick<Logins, 'onChange'>
  /** Undefined where no address for published apps is configured. */
  readonly address: AppsAddress | undefined
  readonly peers?: Peers
  readonly recheckMs?: number
}

const MOST_PER_USER = 50
const HOUR_MS = 3_600_000
const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'

export function createPublishedApps(deps: PublishedAppsDeps): PublishedApps {
  const { store, box, passwords, settings, address, peers = NO_PEERS } = deps
  const { db } = store
  const ends = createLinkEnds({ ...deps, peers })
  const visits = createLinkVisits({ ...deps, isOn: async () => (await publishing()).on })
  const publishing = async (): Promise<Publishing> => {
    const { publishApps, publishMaxHours } = await settings.read()
    const ports = address?.kind === 'ports' ? { first: address.first, last: address.last } : null
    return { on: publishApps && address !== undefined, maxHours: publishMaxHours, ports }
  }

  function linkOf(to: AppsAddress, row: PublishedRow): string {
    const query = new URLSearchParams({ key: box.mac(row.id, KEY) })
    return `${originOfApp(to, row)}${PUBLIC_OPEN_PATH}?${query.toString()}`
  }

  async function view(row: PublishedRow, caller: Pick<Caller, 'userId'>): Promise<PublishedApp> {
    const session = await findSession(db, row.session_id)
    return {
      id: row.id,
      sessionId: row.session_id,
      sessionName: row.session_name,
      app: row.app,
      title: (session && findTunnelApp(session, row.app)?.title) ?? row.app,
      ownerId: row.user_id,
      owner: row.owner_email,
      url: address && caller.userId === row.user_id ? linkOf(address, row) : null,
      port: row.port,
      hasPassword: row.password_hash !== null,
      addresses: [...row.addresses],
      createdAt: row.created_at.toISOString(),
      expiresAt: row.expires_at.toISOString(),
      visits: row.visits,
      lastVisitAt: row.last_visit_at?.toISOString() ?? null,
    }
  }

  return {
    async publish(caller, { id: sessionId, app: name }, spec) {
      const { on, maxHours } = await publishing()
      const session = await requireOwn(db, caller, sessionId, 'only_owner_publishes')
      if (!on || !address) throw new AppError('publishing_off', because('publishing_off'))
      const app = findTunnelApp(session, name)
      if (!app) throw new AppError('app_not_found', { app: name })
      if (!isWebApp(app)) throw new AppError('bad_request', because('only_web_apps', { app: name }))
      if (session.status !== 'RUNNING') throw new AppError('session_not_running', { sessionId })
      if (spec.hours > maxHours) {
        throw new AppError('bad_request', { ...because('link_hours', { hours: maxHours }), maxHours })
      }
      checkAddresses(spec.addresses)
      await deleteEnded(db)
      const row = {
        id: newId(PublishedAppId),
        name: randomName(),
        sessionId,
        app: name,
        userId: caller.userId,
        passwordHash:
          spec.password === undefined ? null : await passwords.hash(spec.password, personAsking(caller.userId)),
        addresses: spec.addresses,
        lifetimeMs: Math.round(spec.hours * HOUR_MS),
      }
      await whilePortsStay(db, async trx => {
        await holdSignedIn(trx, caller)
        // Counting here is safe, because publications run one after the other.
        if ((await countPublishedOf(trx, caller.userId)) >= MOST_PER_USER) {
          throw new AppError('published_apps_limit', because('links_at_most', { count: MOST_PER_USER }))
        }
        const most = portsPerUser(address)
        const isFull = countPortsOf(await knownPorts(trx), caller.userId) >= most
        if (isFull && !(await deleteUnusedOwnApp(trx, caller.userId))) {
          throw new AppError('public_port_taken', because('ports_at_most', { count: most }))
        }
        const asked = { userId: caller.userId, sessionId, wanted: spec.port, nowMs: store.now() }
        const port = choosePort(address, await knownPorts(trx), asked)
        if (port === 'taken' || port === 'resting') {
          throw new AppError('public_port_taken', because(port === 'taken' ? 'ports_taken' : 'ports_resting'))
        }
        await lockSession(trx, sessionId)
        await noteUsedByOthers(trx, sessionId)
        await insertPublished(trx, { ...row, port })
      })
      const made = await findPublished(db, row.id)
      // The session ended meanwhile.
      if (!made) throw new AppError('session_not_running', { sessionId })
      return await view(made, caller)
    },

    async list(caller, sessionId) {
      const rows = await listPublished(db, { sessionId, visible: visibleTo(caller) })
      return { items: await Promise.all(rows.map(row => view(row, caller))), publishing: await publishing() }
    },

    async unpublish(caller, id) {
      const row = await findPublished(db, id)
      if (!row || !canSee(caller, { ownerId: row.user_id, domain: row.domain })) {
        throw new AppError('published_app_not_found', { id })
      }
      return { connections: ends.end(await deletePublished(db, { id })) }
    },
    async endAll() {
      ends.end(await deletePublished(db, 'all'))
    },
    async endOfSession(sessionId) {
      ends.end(await deletePublished(db, { sessionId }))
    },
    ...visits,
    ...ends,
  }
}

/** 16 characters of base32 (80 bits): the label of a host name. It is not secret, since names are visible on the network. */
function randomName(): string {
  return [...randomBytes(16)].map(byte => LETTERS.charAt(byte & 31)).join('')
}

/** @throws AppError `bad_request` */
function checkAddresses(addresses: readonly string[]): void {
  for (const text of addresses) {
    const [net = '', bits] = text.split('/')
    const family = net.includes(':') ? 'ipv6' : 'ipv4'
    try {
      new BlockList().addSubnet(net, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
    } catch (error) {
      throw new AppError('bad_request', because('not_an_address', { text }), { cause: error })
    }
  }
}
