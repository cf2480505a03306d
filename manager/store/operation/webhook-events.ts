import { type Selectable, sql } from 'kysely'
import { formatSlots, type Reason, type SessionId, type SessionStatus, type WebhookEvent } from '#manager/contract'
import { newUuid } from '../new-id.ts'
import { type Db } from '../schema.ts'
import { type SessionsTable } from '../tables/sessions.ts'

/**
 * The outbox of webhooks. Events are written in the transaction of the change that they tell, once for each webhook that wants them, so
 * that none is lost and none is told of a change that did not happen.
 *
 * Payloads hold what administrators see of sessions (ADR 101): never variables, commands, notes, files or logs.
 */
interface NewDelivery {
  readonly webhookId: string
  readonly event: WebhookEvent
  readonly at: Date
  readonly data: Readonly<Record<string, unknown>>
  readonly subject?: string
}

async function insertDeliveries(trx: Db, deliveries: readonly NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return
  const lists = {
    // Events of one transaction are due at the same time, and are sent in the order of their ids.
    ids: deliveries.map(() => newUuid()).toSorted(),
    webhooks: deliveries.map(({ webhookId }) => webhookId),
    events: deliveries.map(({ event }) => event),
    subjects: deliveries.map(({ subject = null }) => subject),
    payloads: deliveries.map(({ event, at, data }) =>
      JSON.stringify({ type: event, timestamp: at.toISOString(), data }),
    ),
  }
  // A webhook that was deleted meanwhile gets none: otherwise the foreign key would refuse the change itself.
  await sql`
    insert into webhook_deliveries (id, webhook_id, event, subject, payload, next_at)
    select d.*, now() from unnest(${lists.ids}::uuid[], ${lists.webhooks}::uuid[], ${lists.events}::text[],
      ${lists.subjects}::text[], ${lists.payloads}::jsonb[]) as d (id, webhook_id, event, subject, payload)
    join webhooks w on w.id = d.webhook_id for key share of w`.execute(trx)
}

type Facts = Pick<
  Selectable<SessionsTable>,
  | 'id'
  | 'name'
  | 'status'
  | 'reason'
  | 'domain'
  | 'image'
  | 'kind'
  | 'resource_group'
  | 'requested'
  | 'cluster_size'
  | 'created_at'
  | 'started_at'
  | 'ended_at'
  | 'version'
> & {
  readonly webhook_id: string
  readonly now: Date
  readonly owner: string
  readonly project: string | null
  readonly project_id: string | null
  readonly exit_code: number | null
}

const FACTS = sql`w.id as webhook_id, now() as now, s.id, s.name, s.status, s.reason, s.domain, s.image, s.kind, s.resource_group,
  s.requested, s.cluster_size, s.created_at, s.started_at, s.ended_at, s.version, u.email as owner, g.name as project,
  g.id as project_id,
  (select k.exit_code from kernels k where k.session_id = s.id and k.role = 'main1') as exit_code`
const PEOPLE = sql`join users u on u.id = s.owner_id left join groups g on g.id = s.group_id`
const WANTS = sql`w.active and (w.group_id is null or w.group_id = s.group_id)`

const momentOf = (time: Date | null) => time?.toISOString() ?? null

function sessionOf(row: Facts): Readonly<Record<string, unknown>> {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    kind: row.kind,
    owner: row.owner,
    project: row.project === null ? null : { id: row.project_id, name: row.project },
    domain: row.domain,
    image: row.image,
    resourceGroup: row.resource_group,
    requested: formatSlots(row.requested),
    clusterSize: row.cluster_size,
    createdAt: momentOf(row.created_at),
    startedAt: momentOf(row.started_at),
    endedAt: momentOf(row.ended_at),
    version: row.version,
  }
}

const reasonFacts = ({ code, message }: Reason) => ({ code, message })

export interface SessionTransition {
  readonly sessionId: SessionId
  readonly from: SessionStatus | null
  readonly to: SessionStatus
  readonly reason: Reason
}

const ENDED: ReadonlySet<SessionStatus> = new Set(['TERMINATED', 'CANCELLED', 'ERROR'])

function eventOf({ from, to }: SessionTransition): WebhookEvent | undefined {
  if (from === to) return undefined
  if (to === 'RUNNING') return 'session.started'
  if (ENDED.has(to)) return 'session.ended'
  return from === null ? 'session.launched' : undefined
}

/** Writes the events of transitions. Call it after the sessions were written, in the same transaction. */
export async function writeSessionEvents(trx: Db, transitions: readonly SessionTransition[]): Promise<void> {
  const told = transitions.flatMap(one => {
    const event = eventOf(one)
    return event === undefined ? [] : [{ ...one, event }]
  })
  if (told.length === 0) return
  const { rows } = await sql<Facts & { place: string }>`
    select e.place, ${FACTS}
    from unnest(${told.map(({ sessionId }) => sessionId)}::uuid[], ${told.map(({ event }) => event)}::text[])
      with ordinality as e (id, event, place)
    join sessions s on s.id = e.id join webhooks w on ${WANTS} and e.event = any(w.events) ${PEOPLE}
    order by e.place`.execute(trx)
  await insertDeliveries(
    trx,
    rows.flatMap(row => {
      // A session may have changed twice in this transaction, and its row has the last status alone.
      const one = told[Number(row.place) - 1]
      if (one === undefined) return []
      const { event, to, reason } = one
      return [
        {
          webhookId: row.webhook_id,
          event,
          at: row.now,
          data: {
            session: { ...sessionOf(row), status: to },
            reason: reasonFacts(reason),
            ...(event === 'session.ended' ? { exitCode: row.exit_code } : {}),
          },
        },
      ]
    }),
  )
}

export interface HostEvent {
  readonly event: Extract<WebhookEvent, `host.${string}`>
  readonly host: string
  /** English sentence. */
  readonly problem?: string | undefined
  readonly gpu?: string | undefined
}

/** Writes an event of a host, for webhooks of the installation. */
export async function writeHostEvent(trx: Db, { event, host, problem, gpu }: HostEvent): Promise<void> {
  const { rows } = await sql<{ id: string; now: Date }>`
    select id, now() as now from webhooks where active and group_id is null and ${event} = any(events)`.execute(trx)
  const data = { host: { name: host }, gpu: gpu ?? null, problem: problem ?? null }
  await insertDeliveries(
    trx,
    rows.map(({ id, now }) => ({ webhookId: id, event, at: now, data })),
  )
}

/** Lock under which events are written that a state causes, not a change: otherwise two managers could write one twice. */
async function lockStates(trx: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('berth:webhook-states', 0))`.execute(trx)
}

/**
 * Writes `session.waiting` for sessions that wait for longer than a webhook says, once for each wait. A session that is to start later waits
 * from then on. Where more wait than a webhook is told of in an hour, those that have waited longest come first, and the others later, if
 * they still wait then.
 *
 * @param bounds `limit` for this call, `mostInHour` for each webhook
 * @returns how many; if it is `limit`, there may be more
 */
export async function writeWaitingEvents(
  trx: Db,
  { limit, mostInHour }: { readonly limit: number; readonly mostInHour: number },
): Promise<number> {
  await lockStates(trx)
  const { rows } = await sql<Facts & { since: Date; subject: string }>`
    with waits as (
      select s.id, greatest(s.status_at, s.starts_at) as since,
        concat_ws(':', 'waiting', s.id, extract(epoch from s.status_at)) as subject
      from sessions s where s.status = 'PENDING'),
    listeners as (
      select w.*, (select count(*) from webhook_deliveries d where d.webhook_id = w.id and d.event = 'session.waiting'
        and d.created_at > now() - interval '1 hour') as told
      from webhooks w where w.active and 'session.waiting' = any(w.events)),
    news as (
      select waits.since, waits.subject, w.told, row_number() over (partition by w.id order by waits.since, s.id) as place, ${FACTS}
      from waits join sessions s on s.id = waits.id
      join listeners w on ${WANTS} and waits.since <= now() - make_interval(mins => w.waiting_minutes)
      ${PEOPLE}
      where not exists (
        select from webhook_deliveries d where d.webhook_id = w.id and d.subject = waits.subject))
    select * from news where told + place <= ${mostInHour} order by since, id limit ${limit}`.execute(trx)
  await insertDeliveries(
    trx,
    rows.map(row => ({
      webhookId: row.webhook_id,
      event: 'session.waiting',
      at: row.now,
      subject: row.subject,
      data: { session: sessionOf(row), reason: reasonFacts(row.reason), waitingSince: momentOf(row.since) },
    })),
  )
  return rows.length
}

/** Reasons to wait that are limits, and whose. */
const LIMITS = {
  concurrency_limit: 'sessions',
  user_policy: 'user',
  keypair_policy: 'keypair',
  group_limit: 'project',
  domain_limit: 'domain',
} as const satisfies Partial<Record<Reason['code'], string>>

/** Writes `limit.reached` where a session waits because of a limit, once in so many hours for each limit. */
export async function writeLimitEvents(trx: Db, againHours: number): Promise<void> {
  await lockStates(trx)
  const { rows } = await sql<Facts & { code: keyof typeof LIMITS; subject: string }>`
    with held as (
      select s.id, s.status_at, s.reason ->> 'code' as code, concat_ws(':', 'limit', s.reason ->> 'code',
        case s.reason ->> 'code' when 'domain_limit' then s.domain when 'group_limit' then s.group_id::text
          when 'keypair_policy' then s.keypair else s.owner_id::text end) as subject
      from sessions s where s.status = 'PENDING' and s.reason ->> 'code' = any(${Object.keys(LIMITS)}::text[]))
    select distinct on (w.id, held.subject) held.code, held.subject, ${FACTS}
    from held join sessions s on s.id = held.id
    join webhooks w on ${WANTS} and 'limit.reached' = any(w.events)
    ${PEOPLE}
    where not exists (
      select from webhook_deliveries d where d.webhook_id = w.id and d.subject = held.subject
        and d.created_at > now() - make_interval(hours => ${againHours}))
    order by w.id, held.subject, held.status_at`.execute(trx)
  await insertDeliveries(
    trx,
    rows.map(row => ({
      webhookId: row.webhook_id,
      event: 'limit.reached',
      at: row.now,
      subject: row.subject,
      data: { limit: LIMITS[row.code], reason: reasonFacts(row.reason), session: sessionOf(row) },
    })),
  )
}

/** Whether any active webhook exists. */
export async function hasWebhooks(db: Db): Promise<boolean> {
  return (
    (await db.selectFrom('webhooks').select('id').where('active', '=', true).limit(1).executeTakeFirst()) !== undefined
  )
}
