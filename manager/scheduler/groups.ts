import { AppError, type ResourceGroup, type ResourceGroupChange, type ResourceGroupSpec } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import {
  findResourceGroup,
  insertResourceGroup,
  listResourceGroups,
  type ResourceGroupRow,
  updateResourceGroup,
} from '../store/resource-groups.ts'

/** What superadmins do with resource groups. */
export interface ResourceGroups {
  list(): Promise<ResourceGroup[]>
  /** @throws AppError `resource_group_exists` */
  create(spec: ResourceGroupSpec): Promise<ResourceGroup>
  /** What is left out stays. @throws AppError `resource_group_not_found` */
  update(name: string, change: ResourceGroupChange): Promise<ResourceGroup>
}

/** @param onChanged the next plan may be another one */
export function createResourceGroups({ db, onChanged }: { db: Db; onChanged: () => void }): ResourceGroups {
  return {
    list: async () => (await listResourceGroups(db)).map(toView),
    async create(spec) {
      const row = await insertResourceGroup(db, spec)
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

function toView(row: ResourceGroupRow): ResourceGroup {
  const { name, description, sequencer, selector, options, active, created_at, version } = row
  return { name, description, sequencer, selector, options, active, createdAt: created_at.toISOString(), version }
}
