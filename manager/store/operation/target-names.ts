import { sql } from 'kysely'
import { type Db } from '../schema.ts'

/** For each kind of thing: its name, and the query for it together with the user or the domain that owns it. */
const KINDS = {
  user: { name: 'users.email', from: 'users', domain: 'users.domain', ofUser: true },
  session: {
    name: 'sessions.name',
    from: 'sessions join users on users.id = sessions.owner_id',
    domain: 'sessions.domain',
    ofUser: true,
  },
  folder: {
    name: 'folders.name',
    from: 'folders left join users on users.id = folders.user_id left join groups on groups.id = folders.group_id',
    domain: 'coalesce(users.domain, groups.domain)',
    ofUser: true,
  },
  group: { name: 'groups.name', from: 'groups', domain: 'groups.domain', ofUser: false },
  agent: { name: 'agents.name', from: 'agents', domain: 'null', ofUser: false },
} as const

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Current names of targets of the audit log, with one statement per kind.
 *
 * Threat model: a target is an id that somebody sent, perhaps of a thing that they may not see. So the reader of one domain gets only names
 * of things in it, and none of superadmins or their things.
 *
 * @param targets as in the log, e.g. `session:0198…`
 * @param domain of the reader; undefined for superadmins
 * @returns names by target; deleted things have none
 */
export async function targetNames(
  db: Db,
  targets: readonly string[],
  domain: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  const named = Object.entries(KINDS).map(async ([kind, { name, from, domain: domainOf, ofUser }]) => {
    const prefix = `${kind}:`
    const ids = targets.flatMap(target => (target.startsWith(prefix) ? target.slice(prefix.length) : []))
    const wanted = [...new Set(ids)].filter(id => UUID.test(id))
    if (wanted.length === 0) return []
    const inDomain = domain === undefined ? sql`true` : sql`${sql.raw(domainOf)} = ${domain}`
    const notOfSuperadmin = domain === undefined || !ofUser ? sql`true` : sql`users.role is distinct from 'superadmin'`
    const { rows } = await sql<{ id: string; name: string }>`
      select ${sql.raw(`${kind}s.id, ${name}`)} as name from ${sql.raw(from)}
      where ${sql.raw(`${kind}s.id`)} = any(${wanted}::uuid[]) and ${inDomain} and ${notOfSuperadmin}`.execute(db)
    return rows.map(row => [`${prefix}${row.id}`, row.name] as const)
  })
  return new Map((await Promise.all(named)).flat())
}
