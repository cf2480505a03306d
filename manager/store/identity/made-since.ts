import { sql } from 'kysely'
import { LIVE_STATUSES, type SessionId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** Possessions of an account that were made or changed since a time, by name. */
export interface MadeSince {
  readonly dotfiles: readonly string[]
  readonly hasScript: boolean
  readonly hasSshKey: boolean
  readonly hasSecondFactor: boolean
  /** Sessions that wait or run. */
  readonly sessions: readonly { readonly id: SessionId; readonly name: string }[]
  /** Own folders that were made since, and all with a dot: each new session mounts these, and their files may have been changed. */
  readonly folders: readonly string[]
  /** Stored requests, and images with stored settings. */
  readonly templates: readonly string[]
  /** Folders and sessions that others may use now, with their addresses. */
  readonly shares: readonly string[]
  /** Published apps. */
  readonly links: readonly string[]
}

/** Most names of one kind. */
const MOST = 50

export async function listMadeSince(db: Db, userId: UserId, since: Date): Promise<MadeSince> {
  const user = sql`${userId}::uuid`
  const from = sql`${since}::timestamptz`
  const names = async (query: ReturnType<typeof sql<{ name: string }>>) =>
    (await query.execute(db)).rows.map(({ name }) => name)
  const dotfiles = await names(sql<{ name: string }>`
    select path as name from dotfiles where user_id = ${user} and changed_at >= ${from} order by path limit ${MOST}`)
  const templates = await names(sql<{ name: string }>`
    select name from session_templates where user_id = ${user} and updated_at >= ${from}
    union select image from image_defaults where user_id = ${user} and changed_at >= ${from}
    order by name limit ${MOST}`)
  const folders = await names(sql<{ name: string }>`
    select name from folders where user_id = ${user} and status = 'ready'
      and (created_at >= ${from} or starts_with(name, '.'))
    order by name limit ${MOST}`)
  const shares = await names(sql<{ name: string }>`
    select f.name || ' (' || u.email || ')' as name from folder_members m
      join folders f on f.id = m.folder_id join users u on u.id = m.user_id
      where f.user_id = ${user} and m.joined_at >= ${from}
    union select f.name || ' (' || i.email || ')' from folder_invitations i join folders f on f.id = i.folder_id
      where f.user_id = ${user} and i.created_at >= ${from} and i.expires_at > now()
    union select s.name || ' (' || u.email || ')' from session_shares t
      join sessions s on s.id = t.session_id join users u on u.id = t.user_id
      where s.owner_id = ${user} and t.shared_at >= ${from} and s.status in (${sql.join(LIVE_STATUSES)})
    order by name limit ${MOST}`)
  const links = await names(sql<{ name: string }>`
    select s.name || ': ' || p.app as name from published_apps p join sessions s on s.id = p.session_id
    where p.user_id = ${user} and p.created_at >= ${from} and p.expires_at > now()
      and s.status in (${sql.join(LIVE_STATUSES)})
    order by name limit ${MOST}`)
  const { rows: sessions } = await sql<{ id: SessionId; name: string }>`
    select id, name from sessions where owner_id = ${user} and created_at >= ${from} and launched_by is null
      and status in (${sql.join(LIVE_STATUSES)}) order by id limit ${MOST}`.execute(db)
  const { rows } = await sql<Pick<MadeSince, 'hasScript' | 'hasSshKey' | 'hasSecondFactor'>>`
    select exists (select from bootstrap_scripts where user_id = ${user} and changed_at >= ${from}) as "hasScript",
      coalesce(ssh_public_key is not null and ssh_key_changed_at >= ${from}, false) as "hasSshKey",
      coalesce(totp_confirmed_at >= ${from}, false) as "hasSecondFactor"
    from users where id = ${user}`.execute(db)
  const [has = { hasScript: false, hasSshKey: false, hasSecondFactor: false }] = rows
  return { dotfiles, folders, templates, shares, links, sessions, ...has }
}
