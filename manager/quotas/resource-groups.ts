import {
  AppError,
  because,
  DEFAULT_RESOURCE_GROUP,
  type Engine,
  type ResourceGroup,
  type ResourceGroupChange,
  type ResourceGroupSpec,
} from '#manager/contract'
import { firstNames } from '../first-names.ts'
import { countAgentsByGroup } from '../store/agents/agents.ts'
import { accessibleTo } from './access.ts'
import { noSuchDomain, noSuchResourceGroup } from '../store/missing.ts'
import { type Store } from '../store/open-store.ts'
import { grantAccess } from '../store/quotas/resource-group-access.ts'
import {
  countSessionsOf,
  deleteResourceGroup,
  listAgentNames,
  lockResourceGroupRow,
} from '../store/identity/removal.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { type Caller } from '../users/authorize.ts'
import { liveSessions, requireEmpty } from '../users/removal.ts'
import { type Db } from '../store/schema.ts'
import {
  findResourceGroup,
  insertResourceGroup,
  listResourceGroups,
  type ResourceGroupRow,
  updateResourceGroup,
} from '../store/quotas/resource-groups.ts'

/** Resource groups. Superadmins manage them; other users see the ones that they may use. */
export interface ResourceGroups {
  /** Only superadmins get what concerns users and projects: weights, and settings of Slurm. */
  list(caller: Caller): Promise<ResourceGroup[]>
  /**
   * Creates a group that is open to the named domains, or else to the creator's domain.
   * @throws AppError `resource_group_exists`, `domain_not_found`
   */
  create(spec: ResourceGroupSpec, domain: string): Promise<ResourceGroup>
  /**
   * Fields that are left out stay as they are.
   * @throws AppError `resource_group_not_found`, `resource_group_in_use` (another engine, with live sessions)
   */
  update(name: string, change: ResourceGroupChange): Promise<ResourceGroup>
  /**
   * Removes the group with its access rules and join tokens. Records of ended sessions keep its name.
   * @throws AppError `resource_group_not_found`, `resource_group_in_use` (agents, live sessions; the group `default`)
   */
  remove(name: string): Promise<void>
}

/** @param onChanged called when the next plan may differ */
export function createResourceGroups({ store, onChanged }: { store: Store; onChanged: () => void }): ResourceGroups {
  const { db } = store
  return {
    async list(caller) {
      const groups = (await listResourceGroups(db)).map(toView)
      const accessible = await accessibleTo(db, caller)
      if (!accessible) {
        const agents = await countAgentsByGroup(db)
        return groups.map(group => ({ ...group, agents: agents.get(group.name) ?? 0 }))
      }
      return groups.filter(({ name }) => accessible.has(name)).map(withoutOthers)
    },
    async create({ domains, ...spec }, domain) {
      const row = await store.transaction(async trx => {
        const inserted = await insertResourceGroup(trx, spec)
        for (const name of inserted ? (domains ?? [domain]) : []) {
          await grantAccess(trx, spec.name, { domain: name }).catch((error: unknown) => {
            throw isForeignKeyViolation(error) ? noSuchDomain(name, { cause: error }) : error
          })
        }
        return inserted
      })
      if (!row) throw new AppError('resource_group_exists', { name: spec.name })
      return toView(row)
    },
    async update(name, change) {
      const row = await store.transaction(async trx => {
        if (change.engine !== undefined) await requireSameEngine(trx, name, change.engine)
        return updateResourceGroup(trx, name, change)
      })
      if (!row) throw noSuchResourceGroup(name)
      onChanged()
      return toView(row)
    },
    async remove(name) {
      if (name === DEFAULT_RESOURCE_GROUP) {
        throw new AppError('resource_group_in_use', {
          name,
          ...because('default_group_stays'),
        })
      }
      await store.transaction(async trx => {
        if (!(await lockResourceGroupRow(trx, name))) throw noSuchResourceGroup(name)
        const agents = await listAgentNames(trx, name)
        const sessions = await countSessionsOf(trx, { resourceGroup: name })
        const holds = [
          ...(agents.length === 0
            ? []
            : [because('agents_still_in_it', { count: agents.length, agents: firstNames(agents) })]),
          ...liveSessions(sessions),
        ]
        requireEmpty('resource_group_in_use', name, { holds, purgeable: {} }, { purge: false, active: false })
        await deleteResourceGroup(trx, name)
      })
      onChanged()
    },
  }
}

/** The engine changes only without live sessions: an engine does not know what another one has allocated. */
async function requireSameEngine(trx: Db, name: string, engine: Engine): Promise<void> {
  await lockResourceGroupRow(trx, name)
  const group = await findResourceGroup(trx, name)
  if (!group || group.engine === engine) return
  const { live } = await countSessionsOf(trx, { resourceGroup: name })
  if (live > 0)
    throw new AppError('resource_group_in_use', { name, ...because('engine_with_live_sessions', { count: live }) })
}

/** Removes what names users and projects: weights, accounts, and who is whom in Slurm. Other users should not know it. */
function withoutOthers({
  options: { weights: _, projectWeights: _other, slurm, ...options },
  ...group
}: ResourceGroup): ResourceGroup {
  if (!slurm) return { ...group, options }
  const { projects: _projects, people: _people, ...shown } = slurm
  return { ...group, options: { ...options, slurm: shown } }
}

function toView(row: ResourceGroupRow): ResourceGroup {
  const { name, description, engine, sequencer, selector, options, active, notice, created_at, version } = row
  return {
    name,
    description,
    engine,
    sequencer,
    selector,
    options,
    active,
    notice,
    createdAt: created_at.toISOString(),
    version,
  }
}
