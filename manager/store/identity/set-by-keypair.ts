import { sql } from 'kysely'
import { type ToldKind, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** Files of a user's new sessions that were set last with one keypair. */
export interface SetByKeypair {
  /** Paths of dotfiles. */
  readonly dotfiles: readonly string[]
  readonly hasScript: boolean
  readonly hasSshKey: boolean
}

export async function listSetByKeypair(db: Db, userId: UserId, accessKey: string): Promise<SetByKeypair> {
  const dotfiles = await db
    .selectFrom('dotfiles')
    .select('path')
    .where('user_id', '=', userId)
    .where('set_by_access_key', '=', accessKey)
    .orderBy('path')
    .execute()
  const { rows } = await sql<Omit<SetByKeypair, 'dotfiles'>>`
    select coalesce(ssh_public_key is not null and ssh_key_set_by_access_key = ${accessKey}, false) as "hasSshKey",
      exists (select from bootstrap_scripts s where s.user_id = users.id and s.set_by_access_key = ${accessKey}) as "hasScript"
    from users where id = ${userId}::uuid`.execute(db)
  const [has = { hasScript: false, hasSshKey: false }] = rows
  return { dotfiles: dotfiles.map(({ path }) => path), ...has }
}

/** Whether a message of this kind told of the keypair within the last day. Its detail begins with the access key. */
export async function wasToldToday(db: Db, userId: UserId, kind: ToldKind, accessKey: string): Promise<boolean> {
  const row = await db
    .selectFrom('messages')
    .select('id')
    .where('user_id', '=', userId)
    .where('about', '=', kind)
    .where(sql<boolean>`starts_with(detail, ${accessKey})`)
    .where(sql<boolean>`created_at > now() - interval '1 day'`)
    .executeTakeFirst()
  return row !== undefined
}
