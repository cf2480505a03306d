import { type RawBuilder, sql } from 'kysely'
import { FINISHED_STATUSES, LIVE_STATUSES } from '#manager/contract'
import { type Database, type Db } from '../schema.ts'

/** How the growth of a table is limited, or why not. */
type Kept =
  /** Rows are deleted once the condition `over` holds. */
  | { readonly over: RawBuilder<boolean> }
  /** The number of rows depends on the number of objects: hosts, users, images, objects that admins create. */
  | 'with what it is about'
  /** History: kept for ever, or for as long as a setting says (`sessionDays`, `auditDays`). */
  | 'as a setting says'

const over = (condition: RawBuilder<boolean>) => ({ over: condition })

const laterMinute = sql`select from session_stats_minutes later
  where later.session_id = session_stats_minutes.session_id and later.minute > session_stats_minutes.minute`

/**
 * Every table, with the rule that limits its growth. A new table without a rule is a compile error. The page for administrators is
 * docs/admin/retention.md.
 */
export const KEPT = {
  // An expired login stays for an hour, so that every manager notices its end.
  logins: over(sql`least(expires_at, ends_at) < now() - interval '1 hour'`),
  sign_in_tickets: over(sql`expires_at < now()`),
  sign_in_attempts: over(sql`expires_at < now()`),
  email_tokens: over(sql`expires_at < now()`),
  login_failures: over(sql`last_failed_at < now() - interval '1 day'`),
  invitations: over(sql`coalesce(used_at, expires_at) < now() - interval '90 days'`),
  sign_up_requests: over(sql`expires_at < now()`),
  image_requests: over(sql`expires_at < now()`),
  grants: over(sql`expires_at < now()`),
  // Lists leave out a console that has not reported for a day.
  console_certificates: over(sql`seen_at < now() - interval '1 day'`),
  diagnoses: over(sql`asked_at < now() - interval '5 minutes'`),
  messages: over(sql`created_at < now() - interval '30 days'`),
  published_apps: over(sql`expires_at < now()`),
  ended_published_apps: over(sql`ended_at < now() - interval '30 days'`),
  own_apps: over(sql`expires_at < now()`),
  own_app_tickets: over(sql`expires_at < now()`),
  // Ports are reserved for a day (REST_MS): older rows have no effect.
  app_ports: over(sql`left_at < now() - interval '2 days'`),
  closed_app_ports: over(sql`seen_at < now() - interval '1 day'`),
  idempotency_keys: over(sql`expires_at < now()`),
  keypair_nonces: over(sql`expires_at < now()`),
  keypair_requests: over(sql`minute < now() - interval '1 hour'`),
  folder_invitations: over(sql`expires_at < now()`),
  join_tokens: over(sql`expires_at < now() - interval '1 day'`),
  uploads: over(sql`expires_at < now()`),
  downloads: over(sql`expires_at < now()`),
  // A delivery that waits ends within about a day by itself.
  webhook_deliveries: over(sql`status <> 'waiting' and created_at < now() - interval '14 days'`),
  tasks: over(sql`ended_at < now() - interval '7 days'`),
  // The last minute of a session stays: it contains the session's total usage.
  session_stats_minutes: over(sql`minute < now() - interval '7 days' and not settled and exists (${laterMinute})`),

  settings: 'with what it is about',
  users: 'with what it is about',
  sign_in_providers: 'with what it is about',
  sign_in_identities: 'with what it is about',
  recovery_codes: 'with what it is about',
  keypairs: 'with what it is about',
  dotfiles: 'with what it is about',
  bootstrap_scripts: 'with what it is about',
  dismissed_announcements: 'with what it is about',
  visits: 'with what it is about',
  domains: 'with what it is about',
  groups: 'with what it is about',
  group_members: 'with what it is about',
  resource_policies: 'with what it is about',
  presets: 'with what it is about',
  resource_groups: 'with what it is about',
  resource_group_access: 'with what it is about',
  reservations: 'with what it is about',
  interruptions: 'with what it is about',
  allocations: 'with what it is about',
  engine_users: 'with what it is about',
  past_kernels: 'with what it is about',
  usage_recounts: 'with what it is about',
  agents: 'with what it is about',
  agent_target: 'with what it is about',
  agent_images: 'with what it is about',
  agent_links: 'with what it is about',
  managers: 'with what it is about',
  registries: 'with what it is about',
  registry_images: 'with what it is about',
  image_aliases: 'with what it is about',
  image_domains: 'with what it is about',
  image_settings: 'with what it is about',
  storage_hosts: 'with what it is about',
  folders: 'with what it is about',
  folder_members: 'with what it is about',
  image_defaults: 'with what it is about',
  session_templates: 'with what it is about',
  scim_tokens: 'with what it is about',
  scim_users: 'with what it is about',
  scim_groups: 'with what it is about',
  webhooks: 'with what it is about',
  folder_usage: 'with what it is about',
  folder_clones: 'with what it is about',

  sessions: 'as a setting says',
  usage_days: 'as a setting says',
  usage_weeks: 'as a setting says',
  usage_hours: 'as a setting says',
  kernels: 'as a setting says',
  kernel_devices: 'as a setting says',
  session_events: 'as a setting says',
  session_folders: 'as a setting says',
  session_shares: 'as a setting says',
  audit_log: 'as a setting says',
} as const satisfies Record<keyof Database, Kept>

export type PrunedTable = {
  [T in keyof typeof KEPT]: (typeof KEPT)[T] extends { over: unknown } ? T : never
}[keyof typeof KEPT]

export const PRUNED = Object.entries(KEPT).flatMap(([table, kept]) =>
  typeof kept === 'string' ? [] : [table as PrunedTable],
)

/** Deletes outdated rows, except those that another manager is deleting now. @returns how many; if it is `limit`, there may be more */
export async function deleteOutdated(db: Db, table: PrunedTable, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)} where ${KEPT[table].over} limit ${limit} for update skip locked
    ))`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/**
 * Marks old rows that are the last minute of their session, so that the next pass skips them. @returns how many; if it is `limit`, there
 * may be more
 */
export async function settleLastMinutes(db: Db, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update session_stats_minutes set settled = true where ctid = any(array(
      select ctid from session_stats_minutes
      where minute < now() - interval '7 days' and not settled and not exists (${laterMinute})
      limit ${limit} for update skip locked
    ))`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/**
 * Deletes sessions that ended more than `days` days ago, with their kernels, events and statistics. Two kinds stay: sessions on which a
 * live session depends, and sessions on a lost agent. When that agent comes back, these rows show that its containers must be removed.
 *
 * @returns how many; if it is `limit`, there may be more
 */
export async function deleteOldSessions(
  db: Db,
  { days, limit }: { readonly days: number; readonly limit: number },
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from sessions where id = any(array(
      select s.id from sessions s
      where s.ended_at < now() - make_interval(days => ${days}) and s.status = any(${[...FINISHED_STATUSES]}::text[])
        and not exists (
          select from kernels k join agents a on a.id = k.agent_id where k.session_id = s.id and a.status = 'LOST')
        and not exists (
          select from sessions w where w.status = any(${[...LIVE_STATUSES]}::text[]) and w.depends_on @> to_jsonb(s.id))
      limit ${limit} for update skip locked
    ))`.execute(db)
  return Number(numAffectedRows ?? 0)
}
