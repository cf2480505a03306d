import { sql, type Selectable } from 'kysely'
import { defined } from '#base/defined'
import {
  type AgentId,
  type Reason,
  type ResourceGroupChange,
  type ResourceGroupSpec,
  type ResourceSlots,
  type SessionId,
  type UserId,
} from '#manager/contract'
import { type Db } from '../schema.ts'
import { type HeldDevice, type HeldPart, type ResourceGroupsTable } from '../tables/scheduling.ts'

export type ResourceGroupRow = Selectable<ResourceGroupsTable>

export async function listResourceGroups(db: Db): Promise<ResourceGroupRow[]> {
  return db.selectFrom('resource_groups').selectAll().orderBy('name').execute()
}

export async function findResourceGroup(db: Db, name: string): Promise<ResourceGroupRow | undefined> {
  return db.selectFrom('resource_groups').selectAll().where('name', '=', name).executeTakeFirst()
}

/** @returns undefined if a resource group of this name exists */
export async function insertResourceGroup(
  db: Db,
  spec: Omit<ResourceGroupSpec, 'domains'>,
): Promise<ResourceGroupRow | undefined> {
  return db
    .insertInto('resource_groups')
    .values({ ...spec, options: JSON.stringify(spec.options) })
    .onConflict(conflict => conflict.column('name').doNothing())
    .returningAll()
    .executeTakeFirst()
}

export async function updateResourceGroup(
  db: Db,
  name: string,
  { description, engine, sequencer, selector, options, active, notice }: ResourceGroupChange,
): Promise<ResourceGroupRow | undefined> {
  return db
    .updateTable('resource_groups')
    .set({
      ...defined({ description, engine, sequencer, selector }),
      ...(options === undefined ? {} : { options: JSON.stringify(options) }),
      ...defined({ active, notice }),
      version: sql`version + 1`,
    })
    .where('name', '=', name)
    .returningAll()
    .executeTakeFirst()
}

/** Serialises everything that allocates or occupies capacity of a resource group, until the transaction ends. */
export async function lockResourceGroup(db: Db, resourceGroup: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`berth:scheduler:${resourceGroup}`}, 0))`.execute(db)
}

export interface ReservationRow {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly devices: readonly HeldDevice[]
  /** Left out if all kernels are to be on one agent. */
  readonly parts?: readonly HeldPart[] | undefined
}

export async function findReservation(db: Db, resourceGroup: string): Promise<ReservationRow | undefined> {
  const found = await db
    .selectFrom('reservations')
    .select(['session_id as sessionId', 'agent_id as agentId', 'devices', 'parts'])
    .where('resource_group', '=', resourceGroup)
    .executeTakeFirst()
  return found && { ...found, parts: found.parts ?? undefined }
}

/** A reservation with its session. */
export interface ReservationOf extends ReservationRow {
  readonly resourceGroup: string
  readonly since: Date
  readonly name: string
  readonly owner: { readonly id: UserId; readonly email: string }
  readonly domain: string
  readonly requested: ResourceSlots
  readonly clusterSize: number
  readonly reason: Reason
}

/** Reservations for sessions that are still waiting, by resource group. @param resourceGroup all groups if left out */
export async function listReservations(db: Db, resourceGroup?: string): Promise<ReservationOf[]> {
  const rows = await db
    .selectFrom('reservations as r')
    .innerJoin('sessions as s', 's.id', 'r.session_id')
    .innerJoin('users as u', 'u.id', 's.owner_id')
    .select([
      'r.resource_group as resourceGroup',
      'r.session_id as sessionId',
      'r.agent_id as agentId',
      'r.devices',
      'r.parts',
      'r.created_at as since',
      's.name',
      's.domain',
      's.requested',
      's.cluster_size as clusterSize',
      's.reason',
      'u.id as ownerId',
      'u.email',
    ])
    .where('s.status', '=', 'PENDING')
    .$if(resourceGroup !== undefined, query => query.where('r.resource_group', '=', resourceGroup ?? ''))
    .orderBy('r.resource_group')
    .execute()
  return rows.map(({ ownerId, email, parts, ...row }) => ({
    ...row,
    parts: parts ?? undefined,
    owner: { id: ownerId, email },
  }))
}

/** Sets the reservation of a resource group; undefined removes it. */
export async function saveReservation(
  db: Db,
  resourceGroup: string,
  reservation: ReservationRow | undefined,
): Promise<void> {
  if (!reservation) {
    await db.deleteFrom('reservations').where('resource_group', '=', resourceGroup).execute()
    return
  }
  const { sessionId, agentId, devices, parts } = reservation
  const values = {
    session_id: sessionId,
    agent_id: agentId,
    devices: JSON.stringify(devices),
    parts: parts ? JSON.stringify(parts) : null,
  }
  await db
    .insertInto('reservations')
    .values({ resource_group: resourceGroup, ...values })
    .onConflict(conflict => conflict.column('resource_group').doUpdateSet({ ...values, created_at: sql`now()` }))
    .execute()
}
