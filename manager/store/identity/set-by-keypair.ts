import { sql } from 'kysely'
import { type AccountNewsKind, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** Files for a user's new sessions whose last change was made with one keypair. */
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

/**
 * Whether a message of this kind with the same text was sent within the last day, or `most` messages about the keypair: more would hide
 * each other. @param news `detail` begins with the access key
 */
export async function wasToldToday(
  db: Db,
  userId: UserId,
  { kind, accessKey, detail, most }: { kind: AccountNewsKind; accessKey: string; detail: string; most: number },
): Promise<boolean> {
  const { same, all } = await db
    .selectFrom('messages')
    .select(sql<boolean>`coalesce(bool_or(detail = ${detail}), false)`.as('same'))
    .select(eb => eb.fn.countAll<number>().as('all'))
    .where('user_id', '=', userId)
    .where('about', '=', kind)
    .where(sql<boolean>`starts_with(detail, ${accessKey})`)
    .where(sql<boolean>`created_at > now() - interval '1 day'`)
    .executeTakeFirstOrThrow()
  return same || all >= most
}
