import { allDone } from '#base/all-done'
import { isOfModel, PARTS_OF_SHARE, partsHeld } from '#manager/contract'
import { type Inactive, type LimitedSession, type ModelLimit, type Scope } from './plan/index.ts'
import {
  listInactive,
  listScopes,
  mayUse,
  readGroupAccess,
  type HeldGpus,
  readHeld,
  readHeldGpus,
  type ScopeIds,
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
  const idsOf = (of: readonly ScopeRow[]): ScopeIds => {
    const ids = (kind: ScopeRow['kind']) => of.filter(row => row.kind === kind).map(row => row.id)
    return { user: ids('user'), keypair: ids('keypair'), group: ids('group'), domain: ids('domain') }
  }
  const byModel = rows.filter(({ gpuLimits }) => gpuLimits.length > 0)
  const [held, gpus] = await allDone([readHeld(db, idsOf(rows)), readHeldGpus(db, idsOf(byModel))])
  return new Map(
    rows.map(({ id, gpuLimits, ...row }) => {
      const key = scopeKey(row.kind, id)
      const { slots, sessions } = held.get(key) ?? { slots: {}, sessions: 0 }
      const models = gpuLimits.map(limit => toModelLimit(limit, gpus.get(key) ?? []))
      return [key, { ...row, ...(models.length === 0 ? {} : { models }), held: slots, sessions }]
    }),
  )
}

/** @param held what counts towards the limit, and GPUs of other models */
export function toModelLimit({ model, gpus }: ScopeRow['gpuLimits'][number], held: readonly HeldGpus[]): ModelLimit {
  const ofModel = held.filter(one => isOfModel(model, one))
  return {
    model,
    limit: gpus * PARTS_OF_SHARE,
    held: ofModel.reduce((sum, one) => sum + partsHeld(one, one.slot, one.amount), 0),
  }
}
