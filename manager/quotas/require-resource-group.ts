import { AppError, because } from '#manager/contract'
import { noSuchResourceGroup } from '../store/missing.ts'
import { findResourceGroup, type ResourceGroupRow } from '../store/quotas/resource-groups.ts'
import { type Db } from '../store/schema.ts'

/** @throws AppError `resource_group_not_found` */
export async function requireResourceGroup(db: Db, name: string): Promise<ResourceGroupRow> {
  const row = await findResourceGroup(db, name)
  if (row) return row
  throw noSuchResourceGroup(name)
}

/**
 * @param row the resource group of this name, as found
 * @throws AppError `resource_group_not_found`, `resource_group_inactive`
 */
export function requireActive(row: ResourceGroupRow | undefined, name: string): ResourceGroupRow {
  if (!row) throw noSuchResourceGroup(name)
  if (row.active) return row
  throw new AppError('resource_group_inactive', {
    name,
    ...(row.notice === ''
      ? because('resource_group_closed', { group: name })
      : because('resource_group_closed_because', { group: name, notice: row.notice })),
  })
}
