import { sql } from 'kysely'
import { type FolderId, LIVE_STATUSES } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type FolderRow } from './folders.ts'

/** Marks a folder as being filled. */
export async function insertFolderClone(db: Db, id: FolderId): Promise<void> {
  await db.insertInto('folder_clones').values({ folder_id: id }).execute()
}

/** Heartbeat of the manager that fills a folder. @returns false if the folder was deleted meanwhile */
export async function renewFolderClone(db: Db, id: FolderId): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('folder_clones')
    .set({ alive_at: sql<Date>`now()` })
    .where('folder_id', '=', id)
    .where(isKept(id))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Unmarks a folder that is complete. @returns false if it was deleted meanwhile */
export async function deleteFolderClone(db: Db, id: FolderId): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('folder_clones')
    .where('folder_id', '=', id)
    .where(isKept(id))
    .executeTakeFirst()
  return numDeletedRows === 1n
}

const isKept = (id: FolderId) =>
  sql<boolean>`exists (select from folders f where f.id = ${id}::uuid and f.status <> 'deleting')`

/**
 * Deletes the folders whose copy had no heartbeat for this long: the manager that filled them has died. A folder that a live session mounts
 * is kept. @returns the folders whose files must be removed
 */
export async function abandonFolderClones(
  db: Db,
  silentSeconds: number,
): Promise<Pick<FolderRow, 'id' | 'name' | 'storage_host'>[]> {
  return db
    .updateTable('folders')
    .set({ status: 'deleting', trashed_at: sql<Date>`coalesce(trashed_at, now())`, version: sql`version + 1` })
    .where('status', '<>', 'deleting')
    .where(
      sql<boolean>`exists (select from folder_clones c
        where c.folder_id = folders.id and c.alive_at < now() - make_interval(secs => ${silentSeconds}))`,
    )
    .where(eb =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('session_folders')
            .innerJoin('sessions', 'sessions.id', 'session_folders.session_id')
            .select('sessions.id')
            .whereRef('session_folders.folder_id', '=', 'folders.id')
            .where('sessions.status', 'in', LIVE_STATUSES),
        ),
      ),
    )
    .returning(['id', 'name', 'storage_host'])
    .execute()
}
