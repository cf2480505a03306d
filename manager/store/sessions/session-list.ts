import { type Expression, type ExpressionBuilder, type RawBuilder, sql, type SqlBool } from 'kysely'
import {
  type AgentId,
  type GroupId,
  LIVE_STATUSES,
  type SessionId,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { type Database, type Db } from '../schema.ts'
import { comesAfter, NEWEST_FIRST, type SessionSorting, valueOf } from './session-order.ts'
import { type OwnedSessionRow, selectOwned } from './sessions.ts'

export interface SessionFilter {
  readonly ids?: readonly SessionId[] | undefined
  /**
   * Sessions of `ownerId`, those shared with `sharedWith` and, if `domain` is set, all sessions in it; undefined for all
   * sessions.
   */
  readonly visible?: { readonly ownerId: UserId; readonly sharedWith?: UserId; readonly domain?: string } | undefined
  readonly domain?: string | undefined
  readonly groupId?: GroupId | undefined
  readonly ownerId?: UserId | undefined
  readonly statuses?: readonly SessionStatus[] | undefined
  /** Only sessions that ended with an error, and batch jobs whose command failed. */
  readonly failed?: boolean | undefined
  readonly name?: string | undefined
  readonly tag?: string | undefined
  readonly resourceGroup?: string | undefined
  /** Sessions with a kernel on this agent. */
  readonly agentId?: AgentId | undefined
  /** Sessions that were launched with this keypair. */
  readonly accessKey?: string | undefined
  /** Part of the name, the image, the resource group or the owner's address, in any letter case. */
  readonly search?: string | undefined
}

/** Newest first, unless the page is sorted otherwise. @param page `after`: the last id of the previous page */
export async function listSessions(
  db: Db,
  filter: SessionFilter,
  page: { limit: number; after?: SessionId | undefined; sorting?: SessionSorting },
): Promise<OwnedSessionRow[]> {
  const { limit, after, sorting = NEWEST_FIRST } = page
  const direction = sorting.descending ? 'desc' : 'asc'
  const value = valueOf(sorting.order)
  return selectOwned(db)
    .where(matching(filter))
    .$if(after !== undefined, query =>
      query.where(eb => comesAfter(sorting, after as SessionId, seenBy(eb, filter.visible))),
    )
    .$if(value !== undefined, query => query.orderBy(value as RawBuilder<unknown>, direction))
    .orderBy('sessions.id', direction)
    .limit(limit)
    .execute()
}

/** A waiting session with only what its place in the queue depends on: ten thousand may wait. */
export interface WaitingRow {
  readonly id: SessionId
  readonly name: string
  readonly owner: string
  readonly priority: number
  readonly resourceGroup: string
}

/** Every matching session that waits, oldest first. */
export async function listWaiting(db: Db, filter: Omit<SessionFilter, 'statuses'>): Promise<WaitingRow[]> {
  return db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.owner_id')
    .select([
      'sessions.id',
      'sessions.name',
      'users.email as owner',
      'sessions.priority',
      'sessions.resource_group as resourceGroup',
    ])
    .where(matching({ ...filter, statuses: ['PENDING'] }))
    .orderBy('sessions.id')
    .execute()
}

export async function countMatching(db: Db, filter: SessionFilter): Promise<number> {
  const { total } = await db
    .selectFrom('sessions')
    .select(eb => eb.fn.countAll<number>().as('total'))
    .where(matching(filter))
    .executeTakeFirstOrThrow()
  return total
}

/**
 * Owners are found first: there are far fewer users than sessions. `words` are name, image and resource group in lower case, made by
 * the database.
 */
const containing = (text: string) =>
  sql<boolean>`(position(${text} in sessions.words) > 0
    or sessions.owner_id = any (array(select id from users where position(${text} in lower(email)) > 0)))`

/** As the page says it (`hasFailed` of `session-text.ts`). Its first part is the condition of the index `sessions_failed`. */
export const hasFailed = sql<boolean>`((sessions.status = 'ERROR'
    or sessions.status = 'TERMINATED' and sessions.kind = 'batch' and sessions.reason->>'code' = 'exited')
  and (sessions.status = 'ERROR' or not exists (select from kernels
    where kernels.session_id = sessions.id and kernels.role = 'main1' and kernels.exit_code = 0)))`

/** Condition that a session is one of these. */
export function seenBy(
  eb: ExpressionBuilder<Database, 'sessions'>,
  visible: SessionFilter['visible'],
): Expression<SqlBool> {
  if (visible === undefined) return sql<boolean>`true`
  const { ownerId, sharedWith, domain } = visible
  return eb.or([
    eb('sessions.owner_id', '=', ownerId),
    // An array, not a sub-query of its own: the planner can use the index of ids beside that of owners.
    ...(sharedWith === undefined
      ? []
      : [sql<boolean>`sessions.id = any (array(select session_id from session_shares where user_id = ${sharedWith}))`]),
    ...(domain === undefined ? [] : [eb('sessions.domain', '=', domain)]),
  ])
}

function matching(filter: SessionFilter) {
  return (eb: ExpressionBuilder<Database, 'sessions'>) =>
    eb.and([
      seenBy(eb, filter.visible),
      ...(filter.ids === undefined ? [] : [eb('sessions.id', 'in', filter.ids)]),
      ...(filter.ownerId === undefined ? [] : [eb('sessions.owner_id', '=', filter.ownerId)]),
      ...(filter.domain === undefined ? [] : [eb('sessions.domain', '=', filter.domain)]),
      ...(filter.groupId === undefined ? [] : [eb('sessions.group_id', '=', filter.groupId)]),
      ...(filter.statuses === undefined ? [] : [eb('sessions.status', 'in', filter.statuses)]),
      ...(filter.failed === true ? [hasFailed] : []),
      ...(filter.accessKey === undefined ? [] : [eb('sessions.keypair', '=', filter.accessKey)]),
      ...(filter.name === undefined ? [] : [eb('sessions.name', '=', filter.name)]),
      ...(filter.resourceGroup === undefined ? [] : [eb('sessions.resource_group', '=', filter.resourceGroup)]),
      ...(filter.agentId === undefined
        ? []
        : [
            eb(
              'sessions.id',
              'in',
              eb.selectFrom('kernels').select('session_id').where('agent_id', '=', filter.agentId),
            ),
          ]),
      ...(filter.search ? [containing(filter.search.toLowerCase())] : []),
      ...(filter.tag === undefined
        ? []
        : [sql<boolean>`sessions.tags <> '[]' and sessions.tags @> ${JSON.stringify([filter.tag])}::jsonb`]),
    ])
}

/**
 * Sessions that run, and sessions that wait for room; those whose start time has not come are not counted.
 *
 * @param resourceGroups only sessions in these groups; all if left out
 */
export async function countSessions(
  db: Db,
  resourceGroups?: ReadonlySet<string>,
): Promise<{ running: number; pending: number }> {
  const rows = await db
    .selectFrom('sessions')
    .select(['status', eb => eb.fn.countAll<number>().as('count')])
    .where('status', 'in', LIVE_STATUSES)
    .where(eb => eb.or([eb('starts_at', 'is', null), eb('starts_at', '<=', sql<Date>`now()`)]))
    .$if(resourceGroups !== undefined, query =>
      query.where('resource_group', '=', sql<string>`any(${[...(resourceGroups ?? [])]}::text[])`),
    )
    .groupBy('status')
    .execute()
  const count = (status: SessionStatus) => rows.find(row => row.status === status)?.count ?? 0
  return { running: count('RUNNING'), pending: count('PENDING') }
}
