import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { expect, test } from 'vitest'
import { AgentId, KernelId, SessionId, UserId } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { hashToken } from '../../../manager/users/secrets.ts'
import { createPasswords } from '../../../manager/users/passwords.ts'
import { LAST_OF_DEVELOPMENT } from '../../../manager/store/migrations/development.ts'
import { MIGRATIONS } from '../../../manager/store/migrations/index.ts'
import { newId, newUuid } from '../../../manager/store/new-id.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { type Db } from '../../../manager/store/schema.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import { ADMIN, apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Makes the tables look as if the migrations up to this one of development had made them. */
async function becomeDevelopment(db: Db, last: string): Promise<void> {
  await sql`delete from kysely_migration`.execute(db)
  for (const name of new Set(['0001-tables', last]))
    await sql`insert into kysely_migration (name, timestamp) values (${name}, '')`.execute(db)
}

/** Makes the tables of the first migration, which are those of the last development version. */
async function makeFirstTables(db: Db): Promise<void> {
  const [[name, first] = []] = Object.entries(MIGRATIONS)
  if (name === undefined || !first) throw new Error('there is no migration')
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve({ [name]: first }) } })
  const { error } = await migrator.migrateToLatest()
  if (error) throw error as Error
}

/** Inserts typical rows of a Berth in use. */
async function fill(db: Db) {
  const hash = await createPasswords().hash(ADMIN.password, ['people'])
  const [admin, user, agent, ended, running] = [
    newId(UserId),
    newId(UserId),
    newId(AgentId),
    newId(SessionId),
    newId(SessionId),
  ]
  const kernels = { ended: newId(KernelId), running: newId(KernelId) }
  const login = { id: newUuid(), token: `berth_an-old-token${'0'.repeat(31)}` }
  for (const [id, email, role] of [
    [admin, ADMIN.email, 'superadmin'],
    [user, 'old@example.org', 'user'],
  ]) {
    await sql`insert into users (id, email, name, role, password_hash)
      values (${id}, ${email}, ${email}, ${role}, ${hash})`.execute(db)
  }
  await sql`insert into logins (id, user_id, token_hash, kind, address, expires_at, ends_at)
    values (${login.id}, ${user}, ${hashToken(login.token)}, 'token', '::1', now() + interval '1 day', now() + interval '9 days')`.execute(
    db,
  )
  await sql`insert into agents (id, name, public_key, status, devices, capacity)
    values (${agent}, 'old-host', 'key', 'CONNECTED', ${'[{"uuid":"GPU-0","model":"A","slot":"cuda.device","memBytes":1,"mode":"whole","isolation":"whole","isolationReason":null,"problem":null,"plugin":"nvidia"}]'}, '{}')`.execute(
    db,
  )
  await sql`insert into group_members (group_id, user_id) select id, ${user} from groups`.execute(db)
  await sql`insert into audit_log (action, result, actor) values ('createUser', 'ok', 'old@example.org')`.execute(db)
  const reason = JSON.stringify({ code: 'started', message: 'It runs.' })
  const slots = JSON.stringify({ cpu: 1000, mem: 2 ** 30 })
  for (const [id, status, kernel] of [
    [ended, 'TERMINATED', kernels.ended],
    [running, 'RUNNING', kernels.running],
  ]) {
    await sql`insert into sessions (id, name, owner_id, status, reason, resource_group, image, requested, shmem_bytes, started_at, ended_at)
      values (${id}, ${`was-${status}`}, ${user}, ${status}, ${reason}, 'default', 'berth/python:3.13', ${slots}, 0,
        now() - interval '2 hours', ${status === 'TERMINATED' ? sql`now() - interval '1 hour'` : null})`.execute(db)
    await sql`insert into kernels (id, session_id, role, status, agent_id, attempt, slots, container_id)
      values (${kernel}, ${id}, 'main1', ${status}, ${agent}, 1, ${slots}, 'c')`.execute(db)
  }
  await sql`update sessions set group_id = (select id from groups)`.execute(db)
  const grants = { ofLogin: newUuid() }
  await sql`insert into grants (id, grant_hash, user_id, login_id, session_id, app, expires_at)
    values (${grants.ofLogin}, ${hashToken(grants.ofLogin)}, ${user}, ${login.id}, ${running}, 'jupyter', now() + interval '5 minutes')`.execute(
    db,
  )
  await sql`insert into published_apps (id, name, session_id, app, user_id, created_at, expires_at)
    values (${newUuid()}, 'published', ${running}, 'jupyter', ${user}, now() - interval '1 hour', now() + interval '1 day')`.execute(
    db,
  )
  return { user, agent, ended, running, kernels, login, grants }
}

test('all data of the last development version survives: accounts, sign-ins, sessions, grants and history', async () => {
  await using database = await startDatabase()
  const store = { databaseUrl: database.url, dataDir: '/nonexistent', log: silentLog }
  const old = await openStore({ ...store, migrate: false })
  await makeFirstTables(old.db)
  const was = await fill(old.db)
  await becomeDevelopment(old.db, LAST_OF_DEVELOPMENT)
  await old[Symbol.asyncDispose]()

  await using cluster = await startSessionsCluster({}, { databaseUrl: database.url })
  await using now = await openStore({ ...store, migrate: false })
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(now.db)
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(MIGRATIONS))

  // Sign-ins continue, and so do accounts, in the default domain and project.
  const mine = apiOf(cluster.url, was.login.token)
  const { user } = await mine.me()
  expect(user).toMatchObject({ email: 'old@example.org', domain: 'default', active: true })
  expect((await mine.getUsage({})).items.map(({ kind, name }) => `${kind} ${name}`)).toContain('group default')
  const again = await apiOf(cluster.url).login({
    body: { email: user.email, password: ADMIN.password, kind: 'token' },
  })
  expect(again.token).not.toBeNull()

  // Sessions are unchanged.
  const { items } = await mine.listSessions({ query: {} })
  expect(items.map(({ name, status, domain, group }) => [name, status, domain, group?.name]).toSorted()).toEqual([
    ['was-RUNNING', 'RUNNING', 'default', 'default'],
    ['was-TERMINATED', 'TERMINATED', 'default', 'default'],
  ])
  const [agent] = (await cluster.api.listAgents()).items
  expect(agent).toMatchObject({
    name: 'old-host',
    devices: [{ uuid: 'GPU-0', mode: 'whole' }],
    occupied: { cpu: '1' },
  })

  // A grant ends with its credential: one without a credential is gone.
  const grants = await now.db.selectFrom('grants').select(['id', 'login_id']).execute()
  expect(grants).toEqual([{ id: was.grants.ofLogin, login_id: was.login.id }])
  expect((await cluster.api.listAuditLog({ query: { action: 'createUser' } })).items).toMatchObject([
    { actor: 'old@example.org' },
  ])
  await expect(sql`delete from audit_log`.execute(now.db)).rejects.toThrow('append-only')

  // The system works: the old account launches on a new host.
  const host = await cluster.join()
  const { id } = await cluster.launch({ resources: { cpu: '1' } }, mine)
  await cluster.reach(id, 'RUNNING')
  expect(host.containers.size).toBe(1)
})

test('tables of another development version are refused with the way to today, and stay as they are', async () => {
  await using database = await startDatabase()
  const options = { databaseUrl: database.url, dataDir: '/nonexistent', log: silentLog }
  await using old = await openStore(options)
  // The first of these is the list of migrations before the second one was written.
  for (const last of ['0001-tables', '0013-sessions-over-hosts', '0015-of-a-branch']) {
    await becomeDevelopment(old.db, last)
    await expect(openStore(options)).rejects.toMatchObject({
      code: 'data_version_unsupported',
      detail: { why: expect.stringMatching(new RegExp(`${last}.*0014-audited-tokens`)) as string },
    })
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(old.db)
    expect(rows.at(-1)?.name).toBe(last)
  }
})

test('a manager that is older than its database stops with a coded error, and changes nothing', async () => {
  await using database = await startDatabase()
  await using dir = await temporaryDirectory()
  const options = { databaseUrl: database.url, dataDir: '/nonexistent', log: silentLog }
  await using store = await openStore(options)
  await sql`insert into kysely_migration (name, timestamp) values ('0999-of-tomorrow', '')`.execute(store.db)
  const main = new URL('../../../manager/main.ts', import.meta.url).pathname
  const env = { ...cleanEnvironment(), BERTH_DATA: dir.path, DATABASE_URL: database.url }
  const manager = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = (await once(createInterface({ input: manager.stdout }), 'line')) as [string]
  expect(JSON.parse(line)).toMatchObject({
    error: { code: 'data_version_unsupported', detail: { why: expect.stringContaining('0999-of-tomorrow') as string } },
  })
  expect(await once(manager, 'exit')).toEqual([1, null])
  const { rows } = await sql`select 1 from settings union all select 1 from users`.execute(store.db)
  expect(rows).toEqual([])
})
