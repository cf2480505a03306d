import { sql } from 'kysely'
import { LIVE_STATUSES, type PublishedAppId, type SessionId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type Credentials, credentialColumns } from '../identity/credential.ts'
import { ACCOUNT_HOLDS } from '../identity/users.ts'

export interface NewGrant {
  readonly id: string
  readonly grantHash: Buffer
  readonly userId: UserId
  readonly openedWith: Credentials | { readonly publishedApp: PublishedAppId }
  readonly sessionId: SessionId
  readonly app: string
  readonly lifetimeMs: number
}

/**
 * A valid grant: not expired, with a valid sign-in, keypair or published app, an active account, and a live session that the user
 * may use.
 */
export interface ValidGrant {
  readonly grantId: string
  readonly userId: UserId
  /** Credential whose end also ends the grant: the id of a sign-in or of a published app, or an access key. */
  readonly loginId: string
  /** The grant serves visitors of a published app. */
  readonly isPublic: boolean
  readonly sessionId: SessionId
  readonly app: string
  readonly expiresAt: Date
}

const after = (lifetimeMs: number) => sql<Date>`now() + ${lifetimeMs} * interval '1 millisecond'`

export async function insertGrant(db: Db, { openedWith, ...grant }: NewGrant): Promise<Date> {
  const row = await db
    .insertInto('grants')
    .values({
      id: grant.id,
      grant_hash: grant.grantHash,
      user_id: grant.userId,
      ...('publishedApp' in openedWith ? { published_app: openedWith.publishedApp } : credentialColumns(openedWith)),
      session_id: grant.sessionId,
      app: grant.app,
      expires_at: after(grant.lifetimeMs),
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return row.expires_at
}

export async function findValidGrant(db: Db, grantHash: Buffer): Promise<ValidGrant | undefined> {
  const row = await db
    .selectFrom('grants as g')
    .innerJoin('sessions as s', 's.id', 'g.session_id')
    .leftJoin('logins as l', 'l.id', 'g.login_id')
    .leftJoin('keypairs as k', 'k.access_key', 'g.keypair')
    .leftJoin('published_apps as p', 'p.id', 'g.published_app')
    .innerJoin('users', 'users.id', 'g.user_id')
    .select(['g.id', 'g.user_id', 'g.session_id', 'g.app', 'g.expires_at'])
    .select(sql<string>`coalesce(l.id::text, k.access_key, p.id::text)`.as('login_id'))
    .select(sql<boolean>`p.id is not null`.as('is_public'))
    .where('g.grant_hash', '=', grantHash)
    .where('g.expires_at', '>', sql<Date>`now()`)
    .where(sql<boolean>`(l.expires_at > now() or k.active or p.expires_at > now())`)
    .where(ACCOUNT_HOLDS)
    .where('s.status', 'in', LIVE_STATUSES)
    .where(
      sql<boolean>`(s.owner_id = g.user_id or exists (
        select from session_shares m where m.session_id = s.id and m.user_id = g.user_id and m.permission = 'use'))`,
    )
    .executeTakeFirst()
  return (
    row && {
      grantId: row.id,
      userId: row.user_id,
      loginId: row.login_id,
      isPublic: row.is_public,
      sessionId: row.session_id,
      app: row.app,
      expiresAt: row.expires_at,
    }
  )
}

export async function extendGrant(db: Db, id: string, lifetimeMs: number): Promise<Date | undefined> {
  const row = await db
    .updateTable('grants')
    .set({ expires_at: after(lifetimeMs) })
    .where('id', '=', id)
    .returning('expires_at')
    .executeTakeFirst()
  return row?.expires_at
}

export async function deleteGrantsOfSession(db: Db, sessionId: SessionId): Promise<void> {
  await db.deleteFrom('grants').where('session_id', '=', sessionId).execute()
}
