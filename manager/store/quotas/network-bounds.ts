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

export interface NetworkDefaultRow {
  readonly kind: 'policy' | 'domain'
  readonly name: string
  readonly defaultNames: readonly string[]
}

/** Networks by the policies of the user and the keypair, and by the domain; those without a list are left out. */
export interface NetworkLimits {
  /** The domain first. */
  readonly bounds: readonly NetworkBoundRow[]
  /** The domain last. */
  readonly defaults: readonly NetworkDefaultRow[]
}

/** In one statement, because each launch asks. */
export async function readNetworkLimits(db: Db, asker: Asker): Promise<NetworkLimits> {
  const { rows } = await sql<Of & { allowedNames: string[] | null; defaultNames: string[] | null }>`
    select 'policy' as kind, p.name, p.allowed_names as "allowedNames", p.default_names as "defaultNames"
    from resource_policies p where ${isPolicyOf(asker)}
    union all
    select 'domain', d.name, d.allowed_names, d.default_names from domains d where d.name = ${asker.domain}
    order by 1, 2`.execute(db)
  const domainLast = rows.toSorted((a, b) => Number(a.kind === 'domain') - Number(b.kind === 'domain'))
  return {
    bounds: rows.flatMap(({ kind, name, allowedNames }) => (allowedNames ? [{ kind, name, allowedNames }] : [])),
    defaults: domainLast.flatMap(({ kind, name, defaultNames }) =>
      defaultNames ? [{ kind, name, defaultNames }] : [],
    ),
  }
}

type Of = Pick<NetworkBoundRow, 'kind' | 'name'>

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
