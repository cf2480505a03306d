import { sql } from 'kysely'
import { type SessionId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type AskedSessions, isAsked } from '../sessions/rights.ts'

export interface NetworkBoundRow {
  readonly kind: 'policy' | 'domain'
  readonly name: string
  readonly allowedNames: readonly string[]
}

/** The owner, keypair and domain whose limits count for a session. */
interface Asker {
  readonly ownerId: UserId
  readonly keypair: string | null
  readonly domain: string
}

/** Lists of names in the policies of the user and the keypair, and of the domain; those without a list are left out. */
export async function readNetworkBounds(db: Db, asker: Asker): Promise<NetworkBoundRow[]> {
  const { rows } = await sql<NetworkBoundRow>`
    select 'policy' as kind, p.name, p.allowed_names as "allowedNames" from resource_policies p
    where p.allowed_names is not null and ${isPolicyOf(asker)}
    union all
    select 'domain', d.name, d.allowed_names from domains d
    where d.name = ${asker.domain} and d.allowed_names is not null
    order by 1, 2`.execute(db)
  return rows
}

export interface NetworkDefaultRow {
  readonly kind: 'policy' | 'domain'
  readonly name: string
  readonly defaultNames: readonly string[]
}

/** Default networks of the policies of the user and the keypair, and of the domain; those without are left out. */
export async function readNetworkDefaults(db: Db, asker: Asker): Promise<NetworkDefaultRow[]> {
  const { rows } = await sql<NetworkDefaultRow>`
    select 'policy' as kind, p.name, p.default_names as "defaultNames" from resource_policies p
    where p.default_names is not null and ${isPolicyOf(asker)}
    union all
    select 'domain', d.name, d.default_names from domains d
    where d.name = ${asker.domain} and d.default_names is not null
    order by 1 desc, 2`.execute(db)
  return rows
}

const isPolicyOf = ({ ownerId, keypair }: Asker) => sql<boolean>`(
  p.name in (select resource_policy from users where id = ${ownerId})
  or p.name in (select resource_policy from keypairs where access_key = ${keypair}))`

/** A waiting session with a limit of names that holds for it now. */
export interface BoundedSession extends NetworkBoundRow {
  readonly id: SessionId
  readonly wanted: readonly string[] | null
}

export async function listBoundedSessions(db: Db, of: AskedSessions): Promise<BoundedSession[]> {
  const { rows } = await sql<BoundedSession>`
    select sessions.id, sessions.allowed_names as wanted, 'policy' as kind, p.name, p.allowed_names as "allowedNames"
    from resource_policies p
    join users on users.resource_policy = p.name
    join sessions on sessions.owner_id = users.id
    where p.allowed_names is not null and ${isAsked(of)}
    union all
    select sessions.id, sessions.allowed_names, 'policy', p.name, p.allowed_names
    from resource_policies p
    join keypairs on keypairs.resource_policy = p.name
    join sessions on sessions.keypair = keypairs.access_key
    where p.allowed_names is not null and ${isAsked(of)}
    union all
    select sessions.id, sessions.allowed_names, 'domain', d.name, d.allowed_names
    from domains d join sessions on sessions.domain = d.name
    where d.allowed_names is not null and ${isAsked(of)}`.execute(db)
  return rows
}
