import { sql } from 'kysely'
import { type FolderId } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface Measured {
  readonly bytes: number | null
  readonly files: number | null
  readonly tookMs: number
}

/** @returns whether the figures are others than before; false too if the folder is gone */
export async function saveUsage(db: Db, id: FolderId, { bytes, files, tookMs }: Measured): Promise<boolean> {
  const before = await db
    .selectFrom('folder_usage')
    .select(['bytes', 'files'])
    .where('folder_id', '=', id)
    .executeTakeFirst()
  const { numAffectedRows } = await sql`
    insert into folder_usage (folder_id, bytes, files, took_ms)
      select id, ${bytes}, ${files}, ${tookMs} from folders where id = ${id}::uuid
    on conflict (folder_id) do update
      set bytes = excluded.bytes, files = excluded.files, took_ms = excluded.took_ms, measured_at = now()`.execute(db)
  return numAffectedRows === 1n && (before?.bytes !== bytes || before.files !== files)
}
