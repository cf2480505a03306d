import { sql, type Selectable } from 'kysely'
import { type SessionSpec, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type SessionTemplatesTable } from '../tables/sessions.ts'

export type TemplateRow = Selectable<SessionTemplatesTable>

export function listTemplates(db: Db, userId: UserId): Promise<TemplateRow[]> {
  return db
    .selectFrom('session_templates')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy(sql`lower(name)`)
    .execute()
}

/** Inserts the template, or replaces the one of this name in any letter case. */
export async function upsertTemplate(
  db: Db,
  { userId, name, spec }: { userId: UserId; name: string; spec: SessionSpec },
): Promise<TemplateRow> {
  return db
    .insertInto('session_templates')
    .values({ user_id: userId, name, spec: JSON.stringify(spec) })
    .onConflict(conflict =>
      conflict
        .expression(sql`user_id, lower(name)`)
        .doUpdateSet({ name, spec: JSON.stringify(spec), updated_at: sql`now()` }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function clearDefaultTemplate(db: Db, userId: UserId): Promise<void> {
  await db.updateTable('session_templates').set({ is_default: false }).where('user_id', '=', userId).execute()
}

/** @returns undefined if the user has no template of this name */
export function updateDefaultTemplate(
  db: Db,
  { userId, name, isDefault }: { userId: UserId; name: string; isDefault: boolean },
): Promise<TemplateRow | undefined> {
  return db
    .updateTable('session_templates')
    .set({ is_default: isDefault })
    .where('user_id', '=', userId)
    .where(sql`lower(name)`, '=', name.toLowerCase())
    .returningAll()
    .executeTakeFirst()
}

/** @returns false if the user had no template of this name */
export async function deleteTemplate(db: Db, userId: UserId, name: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('session_templates')
    .where('user_id', '=', userId)
    .where(sql`lower(name)`, '=', name.toLowerCase())
    .executeTakeFirst()
  return numDeletedRows === 1n
}
