import { allDone } from '#base/all-done'
import { type Inactive, type LimitedSession, type Scope } from './plan/index.ts'
import {
  listInactive,
  listScopes,
  mayUse,
  readGroupAccess,
  readHeld,
  scopeIdsOf,
  type ScopeRow,
  scopeKey,
  scopeKeysOf,
  type ScopedSession,
} from '../store/quotas/limits.ts'
import { type Db } from '../store/schema.ts'

/** Limits that apply to some sessions in one resource group. */
export interface LimitsNow {
  /** Scopes of these sessions that have limits, by key; most have none. */
  readonly scopes: ReadonlyMap<string, Scope>
  of(session: ScopedSession): Pick<LimitedSession, 'scopes' | 'groupAllowed' | 'inactive'>
}

/**
 * Reads the current limits, the amounts held under them, the access to the resource group, and which users, groups and domains are
 * deactivated.
 */
export async function readLimits(
  db: Db,
  resourceGroup: string,
  sessions: readonly ScopedSession[],
): Promise<LimitsNow> {
  const ids = scopeIdsOf(sessions)
  const [scopes, access, inactive] = await allDone([
    listScopes(db, ids, { limitedOnly: true }).then(rows => withHeld(db, rows)),
    readGroupAccess(db, resourceGroup, ids.user),
    listInactive(db, ids),
  ])
  return {
    scopes,
    of(session) {
      const limited = scopes.size === 0 ? [] : scopeKeysOf(session).filter(key => scopes.has(key))
      const shut = inactiveOf(session, inactive)
      return {
        groupAllowed: mayUse(access, session),
        ...(shut ? { inactive: shut } : {}),
        ...(limited.length === 0 ? {} : { scopes: limited }),
      }
    },
  }
}

/** The widest deactivated scope (domain, group, user): an admin has to activate it first. */
function inactiveOf(session: ScopedSession, inactive: ReadonlySet<string>): Inactive | undefined {
  if (inactive.size === 0) return undefined
  const { domain, groupId, ownerId } = session
  if (inactive.has(scopeKey('domain', domain))) return 'domain'
  if (groupId !== null && inactive.has(scopeKey('group', groupId))) return 'group'
  return inactive.has(scopeKey('user', ownerId)) ? 'user' : undefined
}

export async function withHeld(db: Db, rows: readonly ScopeRow[]): Promise<Map<string, Scope>> {
  const idsOf = (kind: ScopeRow['kind']) => rows.filter(row => row.kind === kind).map(row => row.id)
  const held = await readHeld(db, {
    user: idsOf('user'),
    keypair: idsOf('keypair'),
    group: idsOf('group'),
    domain: idsOf('domain'),
  })
  return new Map(
    rows.map(({ id, ...row }) => {
      const key = scopeKey(row.kind, id)
      const { slots, sessions } = held.get(key) ?? { slots: {}, sessions: 0 }
      return [key, { ...row, held: slots, sessions }]
    }),
  )
}
