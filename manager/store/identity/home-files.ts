import { type Selectable, sql } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type BootstrapScriptsTable, type DotfilesTable } from '../tables/identity.ts'

export type DotfileRow = Selectable<DotfilesTable>

export function listDotfiles(db: Db, userId: UserId): Promise<DotfileRow[]> {
  return db.selectFrom('dotfiles').selectAll().where('user_id', '=', userId).orderBy('path').execute()
}

/** Number and total size of a user's dotfiles, except the one at `path`. */
export async function countOtherDotfiles(
  db: Db,
  userId: UserId,
  path: string,
): Promise<{ files: number; bytes: number }> {
  return db
    .selectFrom('dotfiles')
    .select([sql<number>`count(*)::int`.as('files'), sql<number>`coalesce(sum(bytes), 0)::int`.as('bytes')])
    .where('user_id', '=', userId)
    .where('path', '<>', path)
    .executeTakeFirstOrThrow()
}

export async function putDotfile(db: Db, file: Omit<DotfileRow, 'changed_at'>): Promise<Date> {
  const { mode, sealed, bytes, set_by_access_key } = file
  const row = await db
    .insertInto('dotfiles')
    .values(file)
    .onConflict(conflict =>
      conflict
        .columns(['user_id', 'path'])
        .doUpdateSet({ mode, sealed, bytes, set_by_access_key, changed_at: sql<Date>`now()` }),
    )
    .returning('changed_at')
    .executeTakeFirstOrThrow()
  return row.changed_at
}

/** @returns whether the dotfile existed */
export async function deleteDotfile(db: Db, userId: UserId, path: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('dotfiles')
    .where('user_id', '=', userId)
    .where('path', '=', path)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

export function findBootstrapScript(db: Db, userId: UserId): Promise<Selectable<BootstrapScriptsTable> | undefined> {
  return db.selectFrom('bootstrap_scripts').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

export async function putBootstrapScript(
  db: Db,
  script: Omit<Selectable<BootstrapScriptsTable>, 'changed_at'>,
): Promise<Date> {
  const { sealed, set_by_access_key } = script
  const row = await db
    .insertInto('bootstrap_scripts')
    .values(script)
    .onConflict(conflict =>
      conflict.column('user_id').doUpdateSet({ sealed, set_by_access_key, changed_at: sql<Date>`now()` }),
    )
    .returning('changed_at')
    .executeTakeFirstOrThrow()
  return row.changed_at
}

export async function deleteBootstrapScript(db: Db, userId: UserId): Promise<void> {
  await db.deleteFrom('bootstrap_scripts').where('user_id', '=', userId).execute()
}
