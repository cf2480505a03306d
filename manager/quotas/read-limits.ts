import { type LimitedSession, type Scope } from '../scheduler/plan/index.ts'
import {
  listScopes,
  mayUse,
  readGroupAccess,
  readHeld,
  scopeIdsOf,
  type ScopeRow,
  scopeKey,
  scopeKeysOf,
  type ScopedSession,
} from '../store/limits.ts'
import { type Db } from '../store/schema.ts'

/** What limits some sessions in one resource group. */
export interface LimitsNow {
  /** Of these sessions, those with limits; most have none. */
  readonly scopes: ReadonlyMap<string, Scope>
  of(session: ScopedSession): Pick<LimitedSession, 'scopes' | 'groupAllowed'>
}

/** Reads limits, what is held of them, and who may use the resource group, as of now. */
export async function readLimits(
  db: Db,
  resourceGroup: string,
  sessions: readonly ScopedSession[],
): Promise<LimitsNow> {
  const ids = scopeIdsOf(sessions)
  const rows = await listScopes(db, ids, { limitedOnly: true })
  const scopes = await withHeld(db, rows)
  const access = await readGroupAccess(db, resourceGroup, ids.user)
  return {
    scopes,
    of(session) {
      const limited = scopes.size === 0 ? [] : scopeKeysOf(session).filter(key => scopes.has(key))
      return {
        groupAllowed: mayUse(access, session),
        ...(limited.length === 0 ? {} : { scopes: limited }),
      }
    },
  }
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
