import { type Selectable, sql } from 'kysely'
import { type WebhookFault } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type WebhookDeliveriesTable } from '../tables/webhooks.ts'

export type DeliveryRow = Selectable<WebhookDeliveriesTable>

/** Newest first. @param page `before`: id of the last delivery of the previous page */
export function listDeliveries(
  db: Db,
  webhookId: string,
  { limit, before }: { readonly limit: number; readonly before?: string | undefined },
): Promise<DeliveryRow[]> {
  return db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .$if(before !== undefined, query => query.where('id', '<', sql<string>`${before ?? ''}::uuid`))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Deliveries that are due, in their order. */
export function listDue(db: Db, webhookId: string, limit: number): Promise<DeliveryRow[]> {
  return db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .where('status', '=', 'waiting')
    .where('next_at', '<=', sql<Date>`now()`)
    .orderBy('next_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Lets a delivery be attempted as if for the first time. @returns undefined if there is none */
export function sendAgain(db: Db, webhookId: string, id: string): Promise<DeliveryRow | undefined> {
  return db
    .updateTable('webhook_deliveries')
    .set({ status: 'waiting', attempts: 0, next_at: sql<Date>`now()`, fault: null })
    .where('webhook_id', '=', webhookId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

export interface Attempt {
  /** Null: delivered. */
  readonly fault: WebhookFault | null
  readonly responseStatus: number | null
  readonly durationMs: number
  readonly answer: string | null
}

/**
 * Records an attempt.
 *
 * @param againSeconds pause until the next attempt; null: there is none
 */
export async function saveAttempt(
  db: Db,
  id: string,
  { fault, responseStatus, durationMs, answer }: Attempt,
  againSeconds: number | null,
): Promise<void> {
  const isOver = fault === null || againSeconds === null
  await db
    .updateTable('webhook_deliveries')
    .set({
      status: fault === null ? 'delivered' : isOver ? 'failed' : 'waiting',
      next_at: isOver ? null : sql<Date>`now() + make_interval(secs => ${againSeconds})`,
      attempts: sql`attempts + 1`,
      attempted_at: sql<Date>`now()`,
      fault,
      response_status: responseStatus,
      duration_ms: durationMs,
      answer,
    })
    .where('id', '=', id)
    // Somebody may have switched the webhook off meanwhile.
    .where('status', '=', 'waiting')
    .execute()
}

/** Records a test, which is attempted once. */
export async function insertTest(
  db: Db,
  test: { readonly id: string; readonly webhookId: string; readonly event: string; readonly payload: object },
  { fault, responseStatus, durationMs, answer }: Attempt,
): Promise<DeliveryRow> {
  return db
    .insertInto('webhook_deliveries')
    .values({
      id: test.id,
      webhook_id: test.webhookId,
      event: test.event,
      payload: JSON.stringify(test.payload),
      status: fault === null ? 'delivered' : 'failed',
      attempts: 1,
      attempted_at: sql<Date>`now()`,
      fault,
      response_status: responseStatus,
      duration_ms: durationMs,
      answer,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * Deletes the oldest deliveries of webhooks that keep more than so many. Those that wait stay, and those by which a repeated event is
 * recognised.
 */
export async function trimDeliveries(db: Db, most: number): Promise<void> {
  await sql`
    delete from webhook_deliveries d using (
      select w.id as webhook_id, (
        select o.id from webhook_deliveries o where o.webhook_id = w.id order by o.id desc offset ${most} limit 1) as last
      from webhooks w
    ) k
    where d.webhook_id = k.webhook_id and d.id <= k.last and d.status <> 'waiting' and d.subject is null`.execute(db)
}
