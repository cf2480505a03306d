import { type RawBuilder, sql } from 'kysely'
import { LIVE_STATUSES, type SessionId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** The first names of one kind, and how many there are. */
export interface Named {
  readonly names: readonly string[]
  readonly total: number
}

/** Possessions of an account that were made or changed since a time, by name. */
export interface MadeSince {
  readonly dotfiles: Named
  readonly hasScript: boolean
  readonly hasSshKey: boolean
  readonly hasSecondFactor: boolean
  /** Sessions that were launched since, or were not over then: those that wait or run first, then the newest. `total` counts all. */
  readonly sessions: {
    readonly first: readonly { readonly id: SessionId; readonly name: string }[]
    readonly total: number
  }
  /** Images that were saved of the sessions or asked for; those in registries whenever they were pushed there. */
  readonly images: Named
  /** Own folders that were made since, and all with a dot: each new session mounts these, and their files may have been changed. */
  readonly folders: Named
  /** Stored requests, and images with stored settings. */
  readonly templates: Named
  /** Folders and sessions that others may use now, with their addresses. */
  readonly shares: Named
  /** Published apps. */
  readonly links: Named
}

/** Most names of one kind that are read: more than a message holds. */
const MOST = 50

export async function listMadeSince(db: Db, userId: UserId, since: Date): Promise<MadeSince> {
  const user = sql`${userId}::uuid`
  const from = sql`${since}::timestamptz`
  const names = async (query: RawBuilder<unknown>): Promise<Named> => {
    const { rows } = await sql<{ name: string; total: number }>`
      select name, count(*) over ()::int as total from (${query}) as named (name) order by name limit ${MOST}`.execute(
      db,
    )
    return { names: rows.map(({ name }) => name), total: rows[0]?.total ?? 0 }
  }
  const dotfiles = await names(sql`
    select path from dotfiles where user_id = ${user} and changed_at >= ${from}`)
  const templates = await names(sql`
    select name from session_templates where user_id = ${user} and updated_at >= ${from}
    union select image from image_defaults where user_id = ${user} and changed_at >= ${from}`)
  const folders = await names(sql`
    select name from folders where user_id = ${user} and status = 'ready'
      and (created_at >= ${from} or starts_with(name, '.'))`)
  const shares = await names(sql`
    select f.name || ' (' || u.email || ')' as name from folder_members m
      join folders f on f.id = m.folder_id join users u on u.id = m.user_id
      where f.user_id = ${user} and m.joined_at >= ${from}
    union select f.name || ' (' || i.email || ')' from folder_invitations i join folders f on f.id = i.folder_id
      where f.user_id = ${user} and i.created_at >= ${from} and i.expires_at > now()
    union select s.name || ' (' || u.email || ')' from session_shares t
      join sessions s on s.id = t.session_id join users u on u.id = t.user_id
      where s.owner_id = ${user} and t.shared_at >= ${from} and s.status in (${sql.join(LIVE_STATUSES)})`)
  const links = await names(sql`
    select s.name || ': ' || p.app as name from published_apps p join sessions s on s.id = p.session_id
    where p.user_id = ${user} and p.created_at >= ${from} and p.expires_at > now()
      and s.status in (${sql.join(LIVE_STATUSES)})`)
  // Names of images are those of `sessionImagePrefix`, below the host of a registry too. An address may have been another one.
  const isOwn = sql<boolean>`reference ~ ('(^|/)users/[^/]+-' || right(${userId}::text, 8) || '/')`
  const images = await names(sql`
    select reference from agent_images, jsonb_array_elements_text(image -> 'references') as reference
      where seen_at >= ${from} and ${isOwn}
    union select reference from registry_images where scanned_at >= ${from} and ${isOwn}
    union select i.reference from image_requests i join sessions s on s.id = i.session_id
      where s.owner_id = ${user} and i.created_at >= ${from} and i.expires_at > now()
    union select target from tasks where kind = 'save' and user_id = ${user} and created_at >= ${from}
      and status in ('running', 'done')`)
  const isLive = sql<boolean>`status in (${sql.join(LIVE_STATUSES)})`
  const { rows: sessions } = await sql<{ id: SessionId; name: string; total: number }>`
    select id, name, count(*) over ()::int as total from sessions
    where owner_id = ${user} and (created_at >= ${from} or ended_at >= ${from} or ${isLive})
    order by ${isLive} desc, id desc limit ${MOST}`.execute(db)
  const { rows } = await sql<Pick<MadeSince, 'hasScript' | 'hasSshKey' | 'hasSecondFactor'>>`
    select exists (select from bootstrap_scripts where user_id = ${user} and changed_at >= ${from}) as "hasScript",
      coalesce(ssh_public_key is not null and ssh_key_changed_at >= ${from}, false) as "hasSshKey",
      coalesce(totp_confirmed_at >= ${from}, false) as "hasSecondFactor"
    from users where id = ${user}`.execute(db)
  const [has = { hasScript: false, hasSshKey: false, hasSecondFactor: false }] = rows
  const first = sessions.map(({ id, name }) => ({ id, name }))
  return {
    dotfiles,
    folders,
    images,
    templates,
    shares,
    links,
    sessions: { first, total: sessions[0]?.total ?? 0 },
    ...has,
  }
}
