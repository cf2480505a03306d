import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { KernelId, SessionId, UserId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { createEventBus } from '../../../manager/events/bus.ts'
import { silentLog } from '../../../manager/log.ts'
import { startRetention } from '../../../manager/operation/retention.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { newId, newUuid } from '../../../manager/store/new-id.ts'
import { deleteOutdated, KEPT, PRUNED, type PrunedTable } from '../../../manager/store/operation/retention.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { startTestManager } from '../../fixtures/manager.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'

test('every table has a retention rule; expired rows are deleted in portions, also by two managers at once, and others stay', async () => {
  await using manager = await startTestManager()
  const { api } = await manager.signIn()
  await using store = await openToRead({ ...manager.source, log: silentLog })
  const { db } = store
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables
    where table_schema = current_schema() and table_name not like 'kysely%'`.execute(db)
  expect(tables.map(({ name }) => name).toSorted()).toEqual(Object.keys(KEPT).toSorted())

  const { id: user } = (await api.me()).user
  const { accessKey: key } = await api.createKeypair({ body: {} })
  const [session, kernel] = [newId(SessionId), newId(KernelId)]
  await insertSessions(db, [aSessionRow(UserId.parse(user), { id: session, status: 'TERMINATED' })])
  await insertKernels(db, [{ id: kernel, sessionId: session, status: 'TERMINATED', slots: {} }])
  const { id: folder } = await api.createFolder({ body: { name: 'shared' } })
  const settings = await api.getSettings()
  for (const table of PRUNED) await sql`delete from ${sql.table(table)}`.execute(db)
  /** Inserts one row of this age. */
  const add: Record<PrunedTable, (age: string) => Promise<unknown>> = {
    logins: age =>
      sql`insert into logins (id, user_id, token_hash, kind, address, expires_at, ends_at)
      values (${newUuid()}, ${user}, ${bytes()}, 'token', '', ${ago(age)}, now() + interval '1 year')`.execute(db),
    ended_published_apps: age =>
      sql`insert into ended_published_apps (id, name, why, ended_at)
      values (${newUuid()}, 'gone', 'expired', ${ago(age)})`.execute(db),
    sign_in_tickets: age =>
      sql`insert into sign_in_tickets (ticket_hash, user_id, expires_at)
      values (${bytes()}, ${user}, ${ago(age)})`.execute(db),
    sign_in_attempts: age =>
      sql`with provider as (insert into sign_in_providers (id, settings) values ('old', '{}') on conflict do nothing)
      insert into sign_in_attempts (state_hash, secret_hash, provider, sealed, expires_at)
      values (${bytes()}, ${bytes()}, 'old', '', ${ago(age)})`.execute(db),
    webhook_deliveries: age =>
      sql`with hook as (insert into webhooks (id, name, form, events, waiting_minutes, sealed_url, address, sealed_secret)
        values (${newUuid()}, 'old', 'json', '{}', 30, '', '', '') returning id)
      insert into webhook_deliveries (id, webhook_id, event, payload, status, created_at)
      select ${newUuid()}, hook.id, 'webhook.test', '{}', 'delivered', ${ago(age)} from hook`.execute(db),
    email_tokens: age =>
      sql`insert into email_tokens (token_hash, user_id, purpose, expires_at)
      values (${bytes()}, ${user}, 'reset', ${ago(age)})`.execute(db),
    login_failures: age =>
      sql`insert into login_failures (key, failures, last_failed_at)
      values (${newUuid()}, 1, ${ago(age)})`.execute(db),
    invitations: age =>
      sql`insert into invitations (id, token_hash, domain, expires_at)
      values (${newUuid()}, ${bytes()}, 'default', ${ago(age)})`.execute(db),
    sign_up_requests: age =>
      sql`insert into sign_up_requests (id, email, name, note, domain, waiting, confirmed, expires_at)
      values (${newUuid()}, ${`${newUuid()}@example.org`}, 'Ada', '', 'default', true, true, ${ago(age)})`.execute(db),
    // Each request gets a session of its own, because a session can have only one.
    image_requests: async age => {
      const of = newId(SessionId)
      await insertSessions(db, [aSessionRow(UserId.parse(user), { id: of, status: 'TERMINATED' })])
      await sql`insert into image_requests (id, session_id, reference, note, expires_at)
        values (${newUuid()}, ${of}, ${newUuid()}, '', ${ago(age)})`.execute(db)
    },
    console_certificates: age =>
      sql`insert into console_certificates (console, report, state, seen_at)
      values (${newUuid()}, '{}', 'good', ${ago(age)})`.execute(db),
    closed_app_ports: age =>
      sql`insert into closed_app_ports (console, port, seen_at)
      values (${newUuid()}, 20000, ${ago(age)})`.execute(db),
    app_ports: age =>
      sql`insert into app_ports (port, user_id, left_at)
      select coalesce(max(port), 20000) + 1, ${user}::uuid, ${ago(age)} from app_ports`.execute(db),
    diagnoses: age =>
      sql`insert into diagnoses (id, manager_id, with_log, asked_at)
      values (${newUuid()}, ${newUuid()}, false, ${ago(age)})`.execute(db),
    messages: age =>
      sql`insert into messages (id, user_id, sender, text, sessions, created_at)
      values (${newUuid()}, ${user}, 'admin@localhost', 'Please save.', '[]', ${ago(age)})`.execute(db),
    grants: age =>
      sql`insert into grants (id, grant_hash, user_id, keypair, session_id, app, expires_at)
      values (${newUuid()}, ${bytes()}, ${user}, ${key}, ${session}, 'jupyter', ${ago(age)})`.execute(db),
    published_apps: age =>
      sql`insert into published_apps (id, name, session_id, app, user_id, expires_at)
      values (${newUuid()}, ${newUuid()}, ${session}, 'jupyter', ${user}, ${ago(age)})`.execute(db),
    own_apps: age =>
      sql`insert into own_apps (id, name, session_id, app, user_id, expires_at)
      values (${newUuid()}, ${newUuid()}, ${session}, ${`http-${Math.floor(Math.random() * 60_000)}`}, ${user}, ${ago(age)})`.execute(
        db,
      ),
    own_app_tickets: age =>
      sql`insert into own_app_tickets (ticket_hash, own_app, login_id, expires_at)
      select ${bytes()}, o.id, l.id, ${ago(age)}
      from (select id from own_apps order by expires_at desc limit 1) o,
        (select id from logins order by expires_at desc limit 1) l`.execute(db),
    idempotency_keys: age =>
      sql`insert into idempotency_keys (user_id, key, sealed, claim, expires_at)
      values (${user}, ${newUuid()}, '', ${newUuid()}, ${ago(age)})`.execute(db),
    keypair_nonces: age =>
      sql`insert into keypair_nonces (access_key, nonce, expires_at)
      values (${key}, ${newUuid()}, ${ago(age)})`.execute(db),
    keypair_requests: age =>
      sql`insert into keypair_requests (access_key, minute, requests)
      values (${key}, ${ago(age)} + random() * interval '1 second', 1)`.execute(db),
    folder_invitations: age =>
      sql`insert into folder_invitations (id, folder_id, email, permission, invited_by, expires_at)
      values (${newUuid()}, ${folder}, ${`${newUuid()}@example.org`}, 'ro', ${user}, ${ago(age)})`.execute(db),
    join_tokens: age =>
      sql`insert into join_tokens (token_hash, resource_group, expires_at)
      values (${bytes()}, 'default', ${ago(age)})`.execute(db),
    uploads: age =>
      sql`insert into uploads (id, folder_id, user_id, path, size, on_conflict, finish_later, expires_at)
      values (${newUuid()}, ${folder}, ${user}, 'a', 1, 'fail', false, ${ago(age)})`.execute(db),
    downloads: age =>
      sql`insert into downloads (ticket_hash, folder_id, user_id, keypair, paths, expires_at)
      values (${bytes()}, ${folder}, ${user}, ${key}, '{a}', ${ago(age)})`.execute(db),
    tasks: age =>
      sql`insert into tasks (id, kind, target, status, detail, started_by, ended_at)
      values (${newUuid()}, 'pull', 'x', 'done', '{}', 'a', ${ago(age)})`.execute(db),
    session_stats_minutes: age =>
      sql`insert into session_stats_minutes (session_id, minute, stats)
      values (${session}, ${ago(age)} + random() * interval '1 second', '{}')`.execute(db),
  }
  const count = async (table: PrunedTable) =>
    (await sql<{ count: number }>`select count(*) from ${sql.table(table)}`.execute(db)).rows[0]?.count
  for (const table of PRUNED) {
    for (const age of ['1 year', '1 year', '1 year', '-1 hour']) await add[table](age)
    expect(await count(table), table).toBe(4)
  }
  expect(await deleteOutdated(db, 'grants', 2)).toBe(2)
  const retain = () =>
    startRetention({
      store,
      settings: { read: () => Promise.resolve(settings) },
      events: createEventBus(),
      log: silentLog,
      everyMs: 50,
    })
  await using _one = retain()
  await using _other = retain()
  for (const table of PRUNED) await expect.poll(() => count(table), { message: table }).toBe(1)
  // History stays, including its last minute, which contains the total usage.
  await sql`update session_stats_minutes set minute = now() - interval '2 years'`.execute(db)
  expect(await deleteOutdated(db, 'session_stats_minutes', 100)).toBe(0)
  expect(await db.selectFrom('kernels').select('id').execute()).toEqual([{ id: kernel }])
})

const ago = (age: string) => sql`(now() - ${age}::interval)`
const bytes = () => Buffer.from(newUuid())
