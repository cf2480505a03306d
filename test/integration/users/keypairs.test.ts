import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AppError } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { addMasterKey, masterKeyPath } from '../../../manager/secrets/master-key-file.ts'
import { openSecretBox } from '../../../manager/secrets/open-secret-box.ts'
import { createSecretBox } from '../../../manager/secrets/secret-box.ts'
import { readMasterKeys } from '../../../manager/secrets/master-key-file.ts'
import { findKeypair } from '../../../manager/store/identity/keypairs.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { ADMIN, signedApi, startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'

let manager: TestManager
beforeAll(async () => {
  manager = await startTestManager()
})
afterAll(() => manager[Symbol.asyncDispose]())

test('a user creates keypairs, sees the secret once, changes and deletes them', async () => {
  const { api, id } = await manager.addUser('keys@example.org')
  const made = await api.createKeypair({ body: {} })
  expect(made.accessKey).toMatch(/^AKIA[A-Z2-7]{16}$/)
  expect(made.secretKey).toMatch(/^[\w-]{40}$/)
  expect(made).toMatchObject({ userId: id, email: 'keys@example.org', active: true, rateLimit: 1000, lastUsedAt: null })
  const second = await api.createKeypair({ body: { active: false } })
  const { items } = await api.listKeypairs({ query: {} })
  expect(items.map(one => one.accessKey)).toEqual([made.accessKey, second.accessKey].toSorted())
  expect(JSON.stringify(items)).not.toContain('secret')
  const page = await api.listKeypairs({ query: { limit: 1 } })
  const rest = await api.listKeypairs({ query: { limit: 1, cursor: String(page.nextCursor) } })
  expect([...page.items, ...rest.items]).toEqual(items)
  expect(rest.nextCursor).toBeNull()

  const params = { accessKey: made.accessKey }
  expect(await api.updateKeypair({ params, body: { active: false } })).toMatchObject({ active: false, rateLimit: 1000 })
  expect(await api.updateKeypair({ params, body: {} })).toMatchObject({ active: false })
  await api.deleteKeypair({ params })
  await expect(api.deleteKeypair({ params })).rejects.toMatchObject({ code: 'keypair_not_found' })
})

test('a keypair has a name, which is listed, found, and changed', async () => {
  const { api } = await manager.addUser('names@example.org')
  const { accessKey, name } = await api.createKeypair({ body: { name: ' Nightly evaluation ' } })
  expect(name).toBe('Nightly evaluation')
  await api.createKeypair({ body: {} })
  const found = await api.listKeypairs({ query: { search: 'nightly' } })
  expect(found.items.map(one => one.accessKey)).toEqual([accessKey])
  const params = { accessKey }
  expect(await api.updateKeypair({ params, body: { active: true } })).toMatchObject({ name: 'Nightly evaluation' })
  expect(await api.updateKeypair({ params, body: { name: 'Weekly' } })).toMatchObject({ name: 'Weekly' })
  await expect(api.createKeypair({ body: { name: 'x'.repeat(65) } })).rejects.toMatchObject({ code: 'bad_request' })
})

test('keypairs are hidden from others; a superadmin sees and changes all, and only superadmins set rate limits', async () => {
  const owner = await manager.addUser('owner@example.org')
  const other = await manager.addUser('other@example.org')
  const admin = (await manager.signIn()).api
  const { accessKey } = await owner.api.createKeypair({ body: {} })
  const params = { accessKey }
  expect((await other.api.listKeypairs({ query: {} })).items).toEqual([])
  await expect(other.api.updateKeypair({ params, body: {} })).rejects.toMatchObject({ code: 'keypair_not_found' })
  await expect(other.api.deleteKeypair({ params })).rejects.toMatchObject({ code: 'keypair_not_found' })
  const forOwner = { params: { id: owner.id }, body: {} }
  await expect(other.api.createUserKeypair(forOwner)).rejects.toMatchObject({ code: 'forbidden' })
  await expect(owner.api.createKeypair({ body: { rateLimit: 5 } })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(owner.api.updateKeypair({ params, body: { rateLimit: 5 } })).rejects.toMatchObject({ code: 'forbidden' })
  expect(await admin.updateKeypair({ params, body: { rateLimit: 5 } })).toMatchObject({ rateLimit: 5 })
  expect(await admin.createUserKeypair(forOwner)).toMatchObject({ email: 'owner@example.org', waits: true })
  expect((await admin.listKeypairs({ query: { mine: 'true' } })).items).toEqual([])
  const unknown = { params: { id: '00000000-0000-7000-8000-000000000000' }, body: {} }
  await expect(admin.createUserKeypair(unknown)).rejects.toMatchObject({ code: 'user_not_found' })
})

test('lists of keypairs are searched, filtered, sorted and paged by the server, within what the caller may see', async () => {
  const [ann, bob] = [await manager.addUser('ann.list@example.org'), await manager.addUser('bob.list@example.org')]
  const admin = (await manager.signIn()).api
  const keys = [
    (await ann.api.createKeypair({ body: {} })).accessKey,
    (await bob.api.createKeypair({ body: { active: false } })).accessKey,
    (await bob.api.createKeypair({ body: {} })).accessKey,
  ]
  await admin.updateKeypair({ params: { accessKey: keys[2] ?? '' }, body: { rateLimit: 7 } })
  const ask = async (query: NonNullable<Parameters<typeof admin.listKeypairs>[0]>['query'], api = admin) => {
    const { items, total, nextCursor } = await api.listKeypairs({ query: { search: '.LIST@', ...query } })
    return { keys: items.map(({ accessKey }) => accessKey), total, nextCursor }
  }
  expect(await ask({ sort: 'created' })).toEqual({ keys, total: 3, nextCursor: null })
  const first = await ask({ sort: '-created', limit: 2 })
  expect(first).toMatchObject({ keys: [keys[2], keys[1]], total: 3 })
  const rest = await ask({ sort: '-created', limit: 2, cursor: first.nextCursor ?? '' })
  expect(rest).toEqual({ keys: [keys[0]], total: 3, nextCursor: null })
  expect(await ask({ sort: 'rate', limit: 1 })).toMatchObject({ keys: [keys[2]] })
  // Never used ones count as the oldest, and the order pages through equal values.
  const second = await ask({ sort: '-used', limit: 2 })
  const last = await ask({ sort: '-used', limit: 2, cursor: second.nextCursor ?? '' })
  expect([...second.keys, ...last.keys].toSorted()).toEqual(keys.toSorted())
  expect(await ask({ owner: bob.id, active: 'false' })).toMatchObject({ keys: [keys[1]], total: 1 })
  expect(await ask({ search: (keys[0] ?? '').slice(6).toLowerCase() })).toMatchObject({ keys: [keys[0]] })
  expect(await ask({ owner: bob.id }, ann.api)).toMatchObject({ keys: [], total: 0 })
})

test('a keypair is made under a policy and with chosen keys in one step, or not at all', async () => {
  const lead = await manager.addUser('chosen-lead@example.org', 'domain_admin')
  const user = await manager.addUser('chosen@example.org')
  const admin = (await manager.signIn()).api
  await admin.createResourcePolicy({ body: { name: 'scripts' } })
  const keys = { accessKey: 'AKIA2345ABCDEFGHIJKL', secretKey: 'kq3Vx0Zr8yT1mB5cW9xLhA2nE7uGdF4s_-aBcDeF' }
  const made = await admin.createKeypair({ body: { resourcePolicy: 'scripts', ...keys } })
  expect(made).toMatchObject({ ...keys, resourcePolicy: 'scripts', email: ADMIN.email, createdBy: null, waits: false })
  expect(await signedApi(manager.url, keys).me()).toMatchObject({ user: { email: ADMIN.email } })

  const count = async () => (await admin.listKeypairs({ query: { mine: 'true' } })).total
  const before = await count()
  const codeOf = (body: object) => admin.createKeypair({ body }).catch((error: unknown) => (error as AppError).code)
  expect(await codeOf({ resourcePolicy: 'nowhere' })).toBe('resource_policy_not_found')
  expect(await codeOf(keys)).toBe('keypair_exists')
  for (const secretKey of ['a'.repeat(40), 'too-short', undefined]) {
    expect(await codeOf({ accessKey: 'AKIA2345ABCDEFGHIJKM', secretKey })).toBe('bad_request')
  }
  expect(await count()).toBe(before)
  const other = { accessKey: 'AKIA2345ABCDEFGHIJKN', secretKey: keys.secretKey }
  await expect(user.api.createKeypair({ body: other })).rejects.toMatchObject({ code: 'forbidden' })
  const limited = { params: { id: user.id }, body: { resourcePolicy: 'scripts' } }
  await expect(lead.api.createUserKeypair(limited)).rejects.toMatchObject({ code: 'forbidden' })
  expect(await admin.createUserKeypair(limited)).toMatchObject({ resourcePolicy: 'scripts' })
  expect(await lead.api.createKeypair({ body: other })).toMatchObject(other)

  const params = { accessKey: keys.accessKey }
  const change = { params, body: { rateLimit: 7, resourcePolicy: 'default' } }
  expect(await admin.updateKeypair(change)).toMatchObject({ rateLimit: 7, resourcePolicy: 'default' })
  const unknown = admin.updateKeypair({ params, body: { rateLimit: 8, resourcePolicy: 'nowhere' } })
  await expect(unknown).rejects.toMatchObject({ code: 'resource_policy_not_found' })
  const { items } = await admin.listKeypairs({ query: {} })
  expect(items.find(one => one.accessKey === keys.accessKey)).toMatchObject({ rateLimit: 7 })
})

test('a keypair that an admin makes for somebody waits for its owner, who alone gets the secret and is told', async () => {
  const owner = await manager.addUser('waits@example.org')
  const chief = await manager.addUser('waits-chief@example.org', 'domain_admin')
  const made = await chief.api.createUserKeypair({ params: { id: owner.id }, body: {} })
  expect(made).toMatchObject({ active: false, waits: true, createdBy: 'waits-chief@example.org', userId: owner.id })
  expect(JSON.stringify(made)).not.toContain('secret')
  const { accessKey } = made
  const params = { accessKey }
  const told = async () =>
    (await owner.api.listMessages()).items
      .filter(({ about }) => about !== 'account_made_password')
      .map(({ about, detail, from }) => ({ about, detail, from }))
  const from = 'waits-chief@example.org'
  expect(await told()).toEqual([{ about: 'keypair_made', detail: accessKey, from }])

  const admin = (await manager.signIn()).api
  const another = await owner.api.createKeypair({ body: {} })
  for (const [who, code] of [
    [chief.api, 'forbidden'],
    [admin, 'forbidden'],
    // A program decides nothing for its owner.
    [signedApi(manager.url, another), 'forbidden'],
    [(await manager.addUser('waits-other@example.org')).api, 'keypair_not_found'],
  ] as const) {
    await expect(who.acceptKeypair({ params })).rejects.toMatchObject({ code })
  }
  const activate = { params, body: { active: true } }
  await expect(chief.api.updateKeypair(activate)).rejects.toMatchObject({ code: 'forbidden' })
  await expect(owner.api.updateKeypair(activate)).rejects.toMatchObject({ code: 'keypair_waits' })

  const accepted = await owner.api.acceptKeypair({ params })
  expect(accepted).toMatchObject({ active: true, waits: false, createdBy: from })
  expect(await signedApi(manager.url, accepted).me()).toMatchObject({ user: { email: 'waits@example.org' } })
  await expect(owner.api.acceptKeypair({ params })).rejects.toMatchObject({ code: 'keypair_not_waiting' })

  await chief.api.updateKeypair({ params, body: { active: false } })
  await expect(chief.api.updateKeypair(activate)).rejects.toMatchObject({ code: 'forbidden' })
  expect(await owner.api.updateKeypair(activate)).toMatchObject({ active: true })
  await chief.api.deleteKeypair({ params })
  const byOthers = (await told()).map(({ about }) => about).filter(about => !about?.startsWith('own_'))
  expect(byOthers).toEqual(['keypair_deleted', 'keypair_deactivated', 'keypair_made'])

  const refused = await admin.createUserKeypair({ params: { id: owner.id }, body: {} })
  await owner.api.deleteKeypair({ params: { accessKey: refused.accessKey } })
  expect((await owner.api.listKeypairs({ query: {} })).items.map(one => one.accessKey)).toEqual([another.accessKey])
})

test('the database holds no secret in the clear, a rotation seals all again, and a used keypair cannot be deleted', async () => {
  await using data = await temporaryDirectory()
  const made = await (async () => {
    await using first = await startTestManager({ dataDir: data.path })
    const { api } = await first.signIn()
    return await api.createKeypair({ body: {} })
  })()
  await addMasterKey(masterKeyPath(data.path))
  {
    await using store = await openStore({ dataDir: data.path, log: silentLog })
    const before = await findKeypair(store.db, made.accessKey)
    expect(before?.sealed_secret).not.toContain(made.secretKey)
    await openSecretBox({ store, dataDir: data.path, log: silentLog })
    const [newest] = (await readMasterKeys(join(data.path, 'master.key'))) ?? []
    if (!newest) throw new Error('no key')
    const after = await findKeypair(store.db, made.accessKey)
    const box = createSecretBox([newest])
    expect(box.open(String(after?.sealed_secret), `keypair:${made.accessKey}`)).toBe(made.secretKey)
    expect(await readFile(join(data.path, 'master.key'), 'utf8')).not.toContain(made.secretKey)
    await sql`insert into sessions (id, name, owner_id, status, reason, resource_group, image, requested, shmem_bytes,
      keypair, apps) select gen_random_uuid(), 'made', user_id, 'TERMINATED', '{}', 'default', 'x', '{}', 0,
      access_key, '[]' from keypairs`.execute(store.db)
  }
  await using again = await startTestManager({ dataDir: data.path })
  const { api } = await again.signIn()
  const { accessKey } = made
  await expect(api.deleteKeypair({ params: { accessKey } })).rejects.toMatchObject({ code: 'keypair_in_use' })
  expect((await api.listKeypairs({ query: {} })).items).toHaveLength(1)
})
