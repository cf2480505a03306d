import { AppError, type EndedLinks, type Grant, type ServedApp, type Visit } from '#manager/contract'
import { findTunnelApp } from '../images/apps.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { type Store } from '../store/open-store.ts'
import { countVisit, findPublishedAt, listEndedAt, type PublishedRow } from '../store/sessions/published-apps.ts'
import { findSession } from '../store/sessions/sessions.ts'
import { withPasswordLimit } from '../users/back-off.ts'
import { type Passwords, strangerAt } from '../users/passwords.ts'
import { type Grants } from './grants.ts'

/** Visitors of links, for the console that serves them. The threat model is in `published-apps.ts`. */
export interface LinkVisits {
  /** @throws `published_app_not_found` */
  serve(place: string): Promise<ServedApp>
  /** @throws `published_app_not_found`, `public_link_refused`, `rate_limited` */
  visit(place: string, visit: Visit & { readonly address: string }): Promise<void>
  /** Links that were at this place, with why they ended. @param key of the link that a visitor has shown */
  ended(place: string, key: string | undefined): Promise<EndedLinks>
  /** @throws `published_app_not_found`, those of `Grants.create` */
  grant(place: string, signal: AbortSignal): Promise<Grant>
}

export interface LinkVisitsDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly passwords: Passwords
  readonly grants: Pick<Grants, 'createFor'>
  /** Whether links may be used now. */
  readonly isOn: () => Promise<boolean>
}

/** Purpose of the MAC that is the key of a link. */
export const KEY = 'published app: key of the link'
/** Purpose of the MAC that signs cookies of visitors. */
const VISITS = 'published app: cookies of visitors'

export function createLinkVisits({ store, box, passwords, grants, isOn }: LinkVisitsDeps): LinkVisits {
  const { db } = store

  async function findAt(place: string): Promise<PublishedRow> {
    const row = await findPublishedAt(db, place)
    if (!row || !(await isOn())) throw new AppError('published_app_not_found')
    return row
  }

  async function listEnded(place: string, key: string | undefined): Promise<EndedLinks> {
    const rows = await listEndedAt(db, place)
    const items = rows.map(({ id, name, why }) => {
      return { id, name, why, isShown: key !== undefined && box.isMac(key, id, KEY), visitSecret: box.mac(id, VISITS) }
    })
    return { items }
  }

  return {
    async serve(place) {
      const row = await findAt(place)
      const session = await findSession(db, row.session_id)
      const app = session && findTunnelApp(session, row.app)
      if (!app) throw new AppError('published_app_not_found')
      return {
        id: row.id,
        name: row.name,
        port: row.port,
        sessionId: row.session_id,
        sessionName: row.session_name,
        app: row.app,
        title: app.title,
        path: app.path,
        admits: 'links',
        needsPassword: row.password_hash !== null,
        addresses: [...row.addresses],
        expiresAt: row.expires_at.toISOString(),
        visitSecret: box.mac(row.id, VISITS),
      }
    },
    async visit(place, { key, password, address: from }) {
      const { id, password_hash: hash } = await findAt(place)
      // A port may have had another link before.
      const isOld = !box.isMac(key, id, KEY) && (await listEnded(place, key)).items.some(({ isShown }) => isShown)
      if (isOld) throw new AppError('published_app_not_found')
      // The key has 256 bits and cannot be guessed, so wrong keys need no limit.
      if (!box.isMac(key, id, KEY)) throw new AppError('public_link_refused', { reason: 'key' })
      if (hash !== null) {
        if (password === undefined) throw new AppError('public_link_refused', { reason: 'no_password' })
        const isGood = await withPasswordLimit(store, { of: `published-app:${id}`, address: from }, () =>
          passwords.verify(hash, password, strangerAt(from, `published-app:${id}`)),
        )
        if (!isGood) throw new AppError('public_link_refused', { reason: 'password' })
      }
      await countVisit(db, id)
    },
    ended: listEnded,
    async grant(place, signal) {
      const { id, user_id: userId, session_id: sessionId, app } = await findAt(place)
      return grants.createFor({ userId, publishedApp: id }, { sessionId, app }, signal)
    },
  }
}
