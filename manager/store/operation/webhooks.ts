import { type Selectable, sql } from 'kysely'
import { type GroupId, type Role, type UserId, type Webhook } from '#manager/contract'
import { accountHolds } from '../identity/users.ts'
import { type Db } from '../schema.ts'
import { type WebhooksTable } from '../tables/webhooks.ts'

/** A webhook with its project and the account of its owner. */
export type WebhookRow = Selectable<WebhooksTable> & {
  readonly project: string | null
  readonly domain: string | null
  readonly owner_email: string | null
  readonly owner_role: Role | null
  readonly owner_domain: string | null
  /** Whether the account of the owner and its domain are active; not true if the account is gone. */
  readonly owner_holds: boolean | null
  readonly waiting: number
}

const rows = (db: Db) =>
  db
    .selectFrom('webhooks as w')
    .leftJoin('groups as g', 'g.id', 'w.group_id')
    .leftJoin('users as u', 'u.id', 'w.owner_id')
    .selectAll('w')
    .select([
      'g.name as project',
      'g.domain as domain',
      'u.email as owner_email',
      'u.role as owner_role',
      'u.domain as owner_domain',
      accountHolds('u').as('owner_holds'),
    ])
    .select(eb =>
      eb
        .selectFrom('webhook_deliveries as d')
        .whereRef('d.webhook_id', '=', 'w.id')
        .where('d.status', '=', 'waiting')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('waiting'),
    )

/** @param domain only those of projects in this domain; undefined: all, also those of the installation */
export function listWebhooks(
  db: Db,
  { domain, projectId }: { readonly domain?: string | undefined; readonly projectId?: GroupId | undefined },
): Promise<WebhookRow[]> {
  return rows(db)
    .$if(domain !== undefined, query => query.where('g.domain', '=', domain ?? ''))
    .$if(projectId !== undefined, query => query.where('w.group_id', '=', projectId ?? null))
    .orderBy('w.created_at')
    .orderBy('w.id')
    .execute()
}

export function findWebhook(db: Db, id: string): Promise<WebhookRow | undefined> {
  return rows(db).where('w.id', '=', id).executeTakeFirst()
}

/** Serialises additions to one project, or to the installation, until the transaction ends. @returns the number of its webhooks */
export async function countForAddition(trx: Db, groupId: GroupId | null): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`berth:webhooks:${groupId ?? ''}`}, 0))`.execute(trx)
  const { count } = await trx
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('group_id', groupId === null ? 'is' : '=', groupId)
    .executeTakeFirstOrThrow()
  return count
}

export type NewWebhookRow = Pick<
  Selectable<WebhooksTable>,
  'id' | 'name' | 'group_id' | 'form' | 'events' | 'waiting_minutes' | 'sealed_url' | 'address' | 'sealed_secret'
> & { readonly owner_id: UserId }

export async function insertWebhook(db: Db, row: NewWebhookRow): Promise<void> {
  await db
    .insertInto('webhooks')
    .values({ ...row, events: [...row.events] })
    .execute()
}

export type WebhookRowChange = Partial<
  Pick<
    Selectable<WebhooksTable>,
    'name' | 'form' | 'events' | 'waiting_minutes' | 'sealed_url' | 'address' | 'active' | 'off_reason'
  >
> & { readonly owner_id: UserId }

export async function updateWebhook(trx: Db, id: string, change: WebhookRowChange): Promise<void> {
  await trx.updateTable('webhooks').set(change).where('id', '=', id).execute()
  if (change.active === true) await forgetFailures(trx, id)
  if (change.active === false) await dropWaiting(trx, id)
}

/** @returns false if there is no such webhook */
export async function deleteWebhook(db: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('webhooks').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

/**
 * Sets a new secret; the present one stays valid besides it for a day.
 *
 * @returns the end of that day; undefined if there is no such webhook
 */
export async function setSecret(db: Db, id: string, sealed: string): Promise<Date | null | undefined> {
  const row = await db
    .updateTable('webhooks')
    .set({
      sealed_old_secret: sql`sealed_secret`,
      sealed_secret: sealed,
      old_secret_until: sql<Date>`now() + interval '1 day'`,
    })
    .where('id', '=', id)
    .returning('old_secret_until')
    .executeTakeFirst()
  return row?.old_secret_until
}

/**
 * Takes webhooks with deliveries that are due, for the time of a lease. Other managers take others.
 *
 * @param lease new id of the holder
 */
export async function leaseDueWebhooks(
  db: Db,
  { lease, leaseSeconds, limit }: { readonly lease: string; readonly leaseSeconds: number; readonly limit: number },
): Promise<string[]> {
  const { rows: taken } = await sql<{ id: string }>`
    update webhooks set lease = ${lease}, leased_until = now() + make_interval(secs => ${leaseSeconds})
    where id = any(array(
      select w.id from webhooks w
      where (w.leased_until is null or w.leased_until <= now()) and exists (
        select from webhook_deliveries d where d.webhook_id = w.id and d.status = 'waiting' and d.next_at <= now())
      order by w.leased_until nulls first limit ${limit} for update skip locked
    )) returning id`.execute(db)
  return taken.map(({ id }) => id)
}

/** @returns false if the lease is over and another manager has taken it */
export async function renewLease(
  db: Db,
  id: string,
  { lease, leaseSeconds }: { readonly lease: string; readonly leaseSeconds: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('webhooks')
    .set({ leased_until: sql<Date>`now() + make_interval(secs => ${leaseSeconds})` })
    .where('id', '=', id)
    .where('lease', '=', lease)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Gives a lease back. @param restSeconds pause until anybody sends to the webhook again */
export async function endLease(db: Db, id: string, lease: string, restSeconds: number): Promise<void> {
  const leased_until = restSeconds === 0 ? null : sql<Date>`now() + make_interval(secs => ${restSeconds})`
  await db
    .updateTable('webhooks')
    .set({ lease: null, leased_until })
    .where('id', '=', id)
    .where('lease', '=', lease)
    .execute()
}

/** Records a success: earlier failures count no more. */
export async function forgetFailures(db: Db, id: string): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ failing_since: null, failing_told: false })
    .where('id', '=', id)
    .where('failing_since', 'is not', null)
    .execute()
}

/** Records a failure. @returns seconds since the first one after the last success, and whether the owner was told of these failures */
export async function noteFailure(
  db: Db,
  id: string,
): Promise<{ readonly seconds: number; readonly isTold: boolean } | undefined> {
  const row = await db
    .updateTable('webhooks')
    .set({ failing_since: sql<Date>`coalesce(failing_since, now())` })
    .where('id', '=', id)
    .returning([sql<number>`extract(epoch from now() - failing_since)::float8`.as('seconds'), 'failing_told'])
    .executeTakeFirst()
  return row && { seconds: row.seconds, isTold: row.failing_told }
}

/** @returns whether nobody has recorded it before */
export async function setFailingTold(db: Db, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('webhooks')
    .set({ failing_told: true })
    .where('id', '=', id)
    .where('failing_told', '=', false)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Switches a webhook off, and drops what waits. @returns false if it was off */
export async function switchOff(trx: Db, id: string, reason: NonNullable<Webhook['off']>): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('webhooks')
    .set({ active: false, off_reason: reason })
    .where('id', '=', id)
    .where('active', '=', true)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await dropWaiting(trx, id)
  return numUpdatedRows > 0n
}

/** Gives up what waits to be sent to a webhook that is off. */
export async function dropWaiting(db: Db, id: string): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ status: 'failed', next_at: null, fault: 'off' })
    .where('webhook_id', '=', id)
    .where('status', '=', 'waiting')
    .execute()
}
