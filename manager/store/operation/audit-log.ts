import { type Selectable, sql } from 'kysely'
import { type AuditFilter, type Role, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type AuditLogTable } from '../tables/operation.ts'

export type AuditRow = Selectable<AuditLogTable>
export type NewAuditRow = Omit<AuditRow, 'id' | 'at'>

export async function insertAuditRows(db: Db, rows: readonly NewAuditRow[]): Promise<void> {
  if (rows.length === 0) return
  const values = rows.map(row => ({ ...row, detail: JSON.stringify(row.detail) }))
  await db.insertInto('audit_log').values(values).execute()
}

export interface AuditPage extends AuditFilter {
  /** Only rows of this domain since its creation. */
  readonly domain?: string | undefined
  readonly limit: number
  /** Page limits by id: `before` with the order `newest`, `after` with the order `oldest`. */
  readonly before?: number | undefined
  readonly after?: number | undefined
  readonly order: 'newest' | 'oldest'
}

export async function listAuditRows(db: Db, page: AuditPage): Promise<AuditRow[]> {
  const { domain, actor, action, target, from, to, before, after } = page
  let query = db
    .selectFrom('audit_log')
    .selectAll()
    .orderBy('id', page.order === 'newest' ? 'desc' : 'asc')
    .limit(page.limit)
  if (domain !== undefined) {
    // Excludes rows of an earlier domain with the same name.
    const madeAt = db.selectFrom('domains').select('created_at').where('name', '=', domain)
    query = query.where('domain', '=', domain).where('at', '>=', madeAt)
  }
  if (actor !== undefined) {
    query = query.where('actor_id', 'in', eb =>
      eb
        .selectFrom('users')
        .select('users.id')
        .where(sql<boolean>`(users.id::text = lower(${actor}) or lower(users.email) = lower(${actor}))`),
    )
  }
  if (action !== undefined) query = query.where('action', '=', action)
  if (target?.endsWith(':')) query = query.where(sql<boolean>`starts_with(target, ${target})`)
  else if (target !== undefined) query = query.where('target', '=', target)
  if (from !== undefined) query = query.where('at', '>=', new Date(from))
  if (to !== undefined) query = query.where('at', '<', new Date(to))
  if (before !== undefined) query = query.where('id', '<', before)
  if (after !== undefined) query = query.where('id', '>', after)
  return query.execute()
}

/**
 * Deletes the oldest rows beyond `days` days, whole days of UTC at a time. @returns the number of deleted rows, and the time before which
 * rows are deleted (all of them, if there were fewer than `limit`)
 */
export async function deleteOldAuditRows(
  trx: Db,
  { days, limit }: { days: number; limit: number },
): Promise<{ rows: number; before: Date }> {
  const { rows } = await sql<{ rows: number; before: Date }>`
    with cut as (
      select date_trunc('day', now() - make_interval(days => ${days}), 'UTC') as before
    ), gone as (
      delete from audit_log where id in (
        select id from audit_log, cut where at < cut.before order by id limit ${limit} for update of audit_log skip locked
      ) returning id
    )
    select (select count(*) from gone)::int as rows, before from cut`.execute(trx)
  return rows[0] ?? { rows: 0, before: new Date(0) }
}

interface Owner {
  readonly id: UserId
  readonly email: string
  readonly role: Role
  readonly domain: string
}

/**
 * The owner of a target that belongs to a user: `session:…`, `keypair:…`, `user:…`. A session stays in the domain in which it was launched,
 * whose admins manage it, so `domain` is that of the session.
 */
export async function findOwner(db: Db, target: string): Promise<Owner | undefined> {
  const [kind, id = ''] = target.split(':', 2)
  const users = db.selectFrom('users').select(['users.id', 'users.email', 'users.role', 'users.domain'])
  if (kind === 'keypair') {
    const query = users.innerJoin('keypairs', 'keypairs.user_id', 'users.id')
    return query.where('keypairs.access_key', '=', id).executeTakeFirst()
  }
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return undefined
  if (kind === 'user') return users.where(sql<boolean>`users.id = ${id}::uuid`).executeTakeFirst()
  if (kind !== 'session') return undefined
  const query = db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.owner_id')
    .select(['users.id', 'users.email', 'users.role', 'sessions.domain'])
  return query.where(sql<boolean>`sessions.id = ${id}::uuid`).executeTakeFirst()
}

export function findAccount(db: Db, email: string): Promise<Owner | undefined> {
  return db
    .selectFrom('users')
    .select(['id', 'email', 'role', 'domain'])
    .where(sql<boolean>`lower(email) = lower(${email})`)
    .executeTakeFirst()
}
