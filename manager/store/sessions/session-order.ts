import { type Expression, type RawBuilder, sql, type SqlBool } from 'kysely'
import { type SessionId, type SessionOrder } from '#manager/contract'
import { valuesAtEnd } from '../page-end.ts'

/** Order of a list of sessions; sessions with the same value are ordered by age. */
export interface SessionSorting {
  readonly order: SessionOrder
  readonly descending: boolean
}

export const NEWEST_FIRST: SessionSorting = { order: 'created', descending: true }

/** Same expressions as in the indexes of `0001-initial/sessions.ts`. A session that has not ended comes after all ended ones. */
const VALUES: Readonly<Record<Exclude<SessionOrder, 'created'>, RawBuilder<unknown>>> = {
  name: sql`lower(sessions.name)`,
  status: sql`sessions.status`,
  image: sql`lower(sessions.image)`,
  resourceGroup: sql`sessions.resource_group`,
  ended: sql`coalesce(sessions.ended_at, timestamptz 'infinity')`,
  owner: sql`lower(users.email)`,
}

/** Expression by which sessions are ordered; undefined for the age, which is the order of ids. */
export const valueOf = (order: SessionOrder): RawBuilder<unknown> | undefined =>
  order === 'created' ? undefined : VALUES[order]

/**
 * Condition that a session comes after this one. The value of this session is read within the comparison, so that no digits are lost.
 *
 * @param seen condition that the caller may see that session
 */
export function comesAfter(
  { order, descending }: SessionSorting,
  id: SessionId,
  seen: Expression<SqlBool>,
): RawBuilder<boolean> {
  const [after, notBefore] = [sql.raw(descending ? '<' : '>'), sql.raw(descending ? '<=' : '>=')]
  const value = valueOf(order)
  if (value === undefined) return sql<boolean>`sessions.id ${after} ${id}`
  const last = valuesAtEnd({
    values: value,
    from: sql`sessions join users on users.id = sessions.owner_id`,
    is: sql`sessions.id = ${id}`,
    seen,
  })
  // A pair of columns of two tables has no index, so the address alone determines where the scan begins.
  return sql<boolean>`${value} ${notBefore} ${last} and (${value}, sessions.id) ${after} (${last}, ${id}::uuid)`
}
