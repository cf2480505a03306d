import { AppError, type ResourceGroup, type ResourceGroupChange, type ResourceGroupSpec } from '#manager/contract'
import { accessibleTo } from '../quotas/access.ts'
import { type Store } from '../store/open-store.ts'
import { grantAccess } from '../store/resource-group-access.ts'
import { type Db } from '../store/schema.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { type Caller } from '../users/authorize.ts'
import {
  findResourceGroup,
  insertResourceGroup,
  listResourceGroups,
  type ResourceGroupRow,
  updateResourceGroup,
} from '../store/resource-groups.ts'

/** What superadmins do with resource groups; others see those that they may use. */
export interface ResourceGroups {
  /** Without the weights of single users for those who are not superadmins. */
  list(caller: Caller): Promise<ResourceGroup[]>
  /** Open to the domain of who makes it, or to those that are named. @throws AppError `resource_group_exists`, `domain_not_found` */
  create(spec: ResourceGroupSpec, domain: string): Promise<ResourceGroup>
  /** What is left out stays. @throws AppError `resource_group_not_found` */
  update(name: string, change: ResourceGroupChange): Promise<ResourceGroup>
}

/** @param onChanged the next plan may be another one */
export function createResourceGroups({ store, onChanged }: { store: Store; onChanged: () => void }): ResourceGroups {
  const { db } = store
  return {
    async list(caller) {
      const groups = (await listResourceGroups(db)).map(toView)
      const accessible = await accessibleTo(db, caller)
      if (!accessible) return groups
      return groups.filter(({ name }) => accessible.has(name)).map(withoutWeights)
    },
    async create({ domains, ...spec }, domain) {
      const row = await store.transaction(async trx => {
        const inserted = await insertResourceGroup(trx, spec)
        for (const name of inserted ? (domains ?? [domain]) : []) {
          await grantAccess(trx, spec.name, { domain: name }).catch((error: unknown) => {
            throw isForeignKeyViolation(error) ? new AppError('domain_not_found', { name }, { cause: error }) : error
          })
        }
        return inserted
      })
      if (!row) throw new AppError('resource_group_exists', { name: spec.name })
      return toView(row)
    },
    async update(name, change) {
      const row = await updateResourceGroup(db, name, change)
      if (!row) throw new AppError('resource_group_not_found', { name })
      onChanged()
      return toView(row)
    },
  }
}

/** @throws AppError `resource_group_not_found` */
export async function requireResourceGroup(db: Db, name: string): Promise<ResourceGroupRow> {
  const row = await findResourceGroup(db, name)
  if (row) return row
  throw new AppError('resource_group_not_found', { name, why: `There is no resource group "${name}".` })
}

/** @throws AppError `resource_group_not_found`, `resource_group_inactive` */
export async function requireActiveResourceGroup(db: Db, name: string): Promise<ResourceGroupRow> {
  const row = await requireResourceGroup(db, name)
  if (row.active) return row
  throw new AppError('resource_group_inactive', { name, why: `An admin has closed "${name}". Choose another one.` })
}

/** Ids of users, and what they are worth: nothing that others should know. */
function withoutWeights({ options: { weights: _, ...options }, ...group }: ResourceGroup): ResourceGroup {
  return { ...group, options }
}

function toView(row: ResourceGroupRow): ResourceGroup {
  const { name, description, sequencer, selector, options, active, created_at, version } = row
  return { name, description, sequencer, selector, options, active, createdAt: created_at.toISOString(), version }
}
