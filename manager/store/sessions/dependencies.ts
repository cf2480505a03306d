import { sql } from 'kysely'
import { type Reason, type SessionId, type SessionStatus, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** A session of the user, by id or by name. By name: the live one, otherwise the youngest ended one. */
export async function findOwnSession(
  db: Db,
  ownerId: UserId,
  wanted: { id: SessionId } | { name: string },
): Promise<SessionId | undefined> {
  const row = await db
    .selectFrom('sessions')
    .select('id')
    .where('owner_id', '=', ownerId)
    .where(eb => ('id' in wanted ? eb('id', '=', wanted.id) : eb('name', '=', wanted.name)))
    .orderBy(sql`ended_at is not null`)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/** Current state of a session on which the pending session `sessionId` depends. */
export interface Dependency {
  readonly sessionId: SessionId
  readonly name: string
  readonly status: SessionStatus
  readonly reason: Reason
  /** Exit code of the main kernel. */
  readonly exitCode: number | null
}

/** Dependencies of a session that is not in the database yet. */
export async function findDependencies(
  db: Db,
  sessionId: SessionId,
  dependsOn: readonly SessionId[],
): Promise<Dependency[]> {
  if (dependsOn.length === 0) return []
  const rows = await db
    .selectFrom('sessions as d')
    .leftJoin('kernels as k', join => join.onRef('k.session_id', '=', 'd.id').on('k.role', '=', 'main1'))
    .select(['d.name', 'd.status', 'd.reason', 'k.exit_code as exitCode'])
    .where('d.id', 'in', dependsOn)
    .execute()
  return rows.map(row => ({ sessionId, ...row }))
}

/** Dependencies of all pending sessions of the resource group. */
export async function listDependencies(db: Db, resourceGroup: string): Promise<Dependency[]> {
  const { rows } = await sql<Dependency>`
    select s.id as "sessionId", d.name, d.status, d.reason, k.exit_code as "exitCode"
    from sessions s
      cross join lateral jsonb_array_elements_text(s.depends_on) with ordinality as e (id, at)
      join sessions d on d.id = e.id::uuid
      left join kernels k on k.session_id = d.id and k.role = 'main1'
    where s.resource_group = ${resourceGroup} and s.status = 'PENDING' and s.depends_on <> '[]'
    order by s.id, e.at`.execute(db)
  return rows
}
