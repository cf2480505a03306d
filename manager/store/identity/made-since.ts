import { type RawBuilder, sql } from 'kysely'
import { LIVE_STATUSES, type SessionId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** The first names of things of one kind, and their number. A thing of which there is at most one has an empty name. */
export interface Named {
  readonly names: readonly string[]
  readonly total: number
  /** The sessions among these things. */
  readonly sessions?: readonly { readonly id: SessionId; readonly name: string }[]
}

/** Names of an account's things that were created or changed since a time. */
export interface MadeSince {
  readonly dotfiles: Named
  readonly script: Named
  readonly sshKey: Named
  readonly secondFactor: Named
  /** Sessions launched since that time, or unfinished at it: waiting and running ones first, then the newest. */
  readonly sessions: Named
  /** Images saved or requested from the sessions; images in registries regardless of when they were pushed. */
  readonly images: Named
  /**
   * Own folders created since that time, and all whose names begin with a dot: each new session mounts these, and their files may have been
   * changed.
   */
  readonly folders: Named
  /** Stored requests, and images with stored settings. */
  readonly templates: Named
  /**
   * Folders and sessions shared with others, or with changed rights, since that time, with the addresses of these people. Also all sessions
   * whose logs administrators may read: nothing records since when.
   */
  readonly shares: Named
  /** Published apps. */
  readonly links: Named
  /** Invitations to sign up that are open or were used, named by note or domain, with the address of the account created with each. */
  readonly invitations: Named
  /** Accounts for which the user received a password link, by address. */
  readonly accountLinks: Named
  /** All webhooks that the user saved last: nothing records when one was changed, and its events go to an address that others may have chosen. */
  readonly webhooks: Named
  /** Tokens for identity providers, which change accounts and projects of a domain for as long as the user administers it. */
  readonly scimTokens: Named
}

/** For a kind of which there is at most one thing. */
export const oneIf = (isThere: boolean): Named => ({ names: isThere ? [''] : [], total: isThere ? 1 : 0 })

/** Sessions launched with a keypair, or with a sign-in made with it: waiting and running ones first, then the newest. */
export function listLaunchedWith(db: Db, accessKey: string): Promise<Required<Named>> {
  return listSessionsThat(db, sql<boolean>`keypair = ${accessKey}`)
}

async function listSessionsThat(db: Db, condition: RawBuilder<boolean>): Promise<Required<Named>> {
  const { rows } = await sql<{ id: SessionId; name: string; total: number }>`
    select id, name, count(*) over ()::int as total from sessions
    where ${condition} order by ${isLive} desc, id desc limit ${MOST}`.execute(db)
  const sessions = rows.map(({ id, name }) => ({ id, name }))
  return { names: sessions.map(({ name }) => name), total: rows[0]?.total ?? 0, sessions }
}

const isLive = sql<boolean>`status in (${sql.join(LIVE_STATUSES)})`

/** Most names read of one kind: more than a message holds. */
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
      where f.user_id = ${user} and m.changed_at >= ${from}
    union select f.name || ' (' || i.email || ')' from folder_invitations i join folders f on f.id = i.folder_id
      where f.user_id = ${user} and i.changed_at >= ${from} and i.expires_at > now()
    union select s.name || ' (' || u.email || ')' from session_shares t
      join sessions s on s.id = t.session_id join users u on u.id = t.user_id
      where s.owner_id = ${user} and t.changed_at >= ${from} and s.status in (${sql.join(LIVE_STATUSES)})
    union select name || ' (log: administrators)' from sessions where owner_id = ${user} and admins_may_read`)
  const links = await names(sql`
    select s.name || ': ' || p.app as name from published_apps p join sessions s on s.id = p.session_id
    where p.user_id = ${user} and p.created_at >= ${from} and p.expires_at > now()
      and s.status in (${sql.join(LIVE_STATUSES)})`)
  const invitations = await names(sql`
    select coalesce(nullif(i.note, ''), i.domain) || coalesce(' (' || u.email || ')', '') as name
      from invitations i left join users u on u.id = i.used_by
      where i.created_by = ${user} and i.created_at >= ${from} and (i.used_at is not null or i.expires_at > now())`)
  const accountLinks = await names(sql`
    select distinct u.email from email_tokens t join users u on u.id = t.user_id
      where t.in_hand_of = ${user} and t.created_at >= ${from} and t.expires_at > now()`)
  const webhooks = await names(sql`select name from webhooks where owner_id = ${user}`)
  const scimTokens = await names(sql`
    select name || ' (' || domain || ')' as name from scim_tokens where created_by = ${user} and created_at >= ${from}`)
  // Names of such images follow `sessionImagePrefix`, also after the host of a registry. The user may have had another address then.
  const isOwn = sql<boolean>`reference ~ ('(^|/)users/[^/]+-' || right(${userId}::text, 8) || '/')`
  const images = await names(sql`
    select reference from agent_images, jsonb_array_elements_text(image -> 'references') as reference
      where seen_at >= ${from} and ${isOwn}
    union select reference from registry_images where scanned_at >= ${from} and ${isOwn}
    union select i.reference from image_requests i join sessions s on s.id = i.session_id
      where s.owner_id = ${user} and i.created_at >= ${from} and i.expires_at > now()
    union select target from tasks where kind = 'save' and user_id = ${user} and created_at >= ${from}
      and status in ('running', 'done')`)
  const sessions = await listSessionsThat(
    db,
    sql<boolean>`owner_id = ${user} and (created_at >= ${from} or ended_at >= ${from} or ${isLive})`,
  )
  const { rows } = await sql<{ script: boolean; sshKey: boolean; secondFactor: boolean }>`
    select exists (select from bootstrap_scripts where user_id = ${user} and changed_at >= ${from}) as script,
      coalesce(ssh_public_key is not null and ssh_key_changed_at >= ${from}, false) as "sshKey",
      coalesce(totp_confirmed_at >= ${from}, false) as "secondFactor"
    from users where id = ${user}`.execute(db)
  const [has = { script: false, sshKey: false, secondFactor: false }] = rows
  return {
    dotfiles,
    script: oneIf(has.script),
    sshKey: oneIf(has.sshKey),
    secondFactor: oneIf(has.secondFactor),
    sessions,
    images,
    folders,
    templates,
    shares,
    links,
    invitations,
    accountLinks,
    webhooks,
    scimTokens,
  }
}
