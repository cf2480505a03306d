import { sql, type Selectable } from 'kysely'
import { defined } from '#base/defined'
import { type GpuChoice, type ResourceSlots } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type PresetsTable } from '../tables/quotas.ts'

export type PresetRow = Selectable<PresetsTable>

/** A preset. Amounts are in base units. */
export interface PresetSettings {
  readonly slots: ResourceSlots
  readonly gpu: GpuChoice | null
  readonly shmem_bytes: number | null
}

export function listPresets(db: Db): Promise<PresetRow[]> {
  return db.selectFrom('presets').selectAll().orderBy('name').execute()
}

/** @returns undefined if a preset of this name exists */
export function insertPreset(db: Db, name: string, { slots, gpu, shmem_bytes }: PresetSettings) {
  return db
    .insertInto('presets')
    .values({ name, slots: JSON.stringify(slots), gpu: gpu && JSON.stringify(gpu), shmem_bytes })
    .onConflict(conflict => conflict.column('name').doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** @returns undefined if no preset has this name */
export function updatePreset(db: Db, name: string, { slots, gpu, shmem_bytes }: Partial<PresetSettings>) {
  return db
    .updateTable('presets')
    .set({
      ...(slots === undefined ? {} : { slots: JSON.stringify(slots) }),
      ...(gpu === undefined ? {} : { gpu: gpu && JSON.stringify(gpu) }),
      ...defined({ shmem_bytes }),
      version: sql`version + 1`,
    })
    .where('name', '=', name)
    .returningAll()
    .executeTakeFirst()
}

/** @returns false if no preset had this name */
export async function deletePreset(db: Db, name: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('presets').where('name', '=', name).executeTakeFirst()
  return numDeletedRows === 1n
}
