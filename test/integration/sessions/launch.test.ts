import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, type SessionSpec } from '#manager/contract'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const IMAGE = 'berth/python:3.13'
const body = (spec: Partial<SessionSpec> = {}): SessionSpec => ({
  image: IMAGE,
  resources: {},
  environ: {},
  count: 1,
  resourceGroup: 'default',
  ...spec,
})

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

describe('templates', () => {
  test('templates are stored under a name, replaced in any letter case, and hidden from other users', async () => {
    const ada = await cluster.addUser('ada@localhost')
    const save = (name: string, spec: Partial<SessionSpec> = {}) =>
      ada.saveSessionTemplate({ params: { name }, body: body(spec) })
    await save('학습 1', { resources: { cpu: '2' }, startsAt: new Date(Date.now() + 3_600_000).toISOString() })
    await save('Training', { environ: { A: '1' } })
    const again = await save('training', { environ: { A: '2' } })
    const { items } = await ada.listSessionTemplates()
    expect(items.map(({ name }) => name)).toEqual(['training', '학습 1'])
    expect(again).toMatchObject({ name: 'training', spec: body({ environ: { A: '2' } }) })
    // A start time belongs to one launch.
    expect(items[1]?.spec).toEqual(body({ resources: { cpu: '2' } }))

    expect((await cluster.api.listSessionTemplates()).items).toEqual([])
    const foreign = cluster.api.deleteSessionTemplate({ params: { name: 'training' } })
    expect(await refusal(foreign)).toMatchObject({ code: 'template_not_found' })
    await ada.deleteSessionTemplate({ params: { name: 'TRAINING' } })
    expect((await ada.listSessionTemplates()).items).toHaveLength(1)
  })

  test('one template of a user is the default, until another one is, it is unset, or it is deleted', async () => {
    const cleo = await cluster.addUser('cleo@localhost')
    const save = (name: string) => cleo.saveSessionTemplate({ params: { name }, body: body() })
    const setDefault = (name: string, isDefault = true) =>
      cleo.setDefaultSessionTemplate({ params: { name }, body: { isDefault } })
    const defaults = async () =>
      (await cleo.listSessionTemplates()).items.filter(({ isDefault }) => isDefault).map(({ name }) => name)
    await save('one')
    await save('two')
    expect(await defaults()).toEqual([])
    await Promise.all([setDefault('one'), setDefault('TWO'), setDefault('one'), setDefault('two')])
    expect(await defaults()).toHaveLength(1)
    expect(await setDefault('two')).toMatchObject({ name: 'two', isDefault: true })
    expect(await refusal(setDefault('three'))).toMatchObject({ code: 'template_not_found' })
    expect(await defaults()).toEqual(['two'])
    // New settings under the same name do not end it.
    await save('two')
    expect(await defaults()).toEqual(['two'])
    await setDefault('two', false)
    expect(await defaults()).toEqual([])
    await setDefault('one')
    await cleo.deleteSessionTemplate({ params: { name: 'one' } })
    expect(await defaults()).toEqual([])
  })

  test('a user has at most a hundred templates', async () => {
    const bob = await cluster.addUser('bob@localhost')
    const save = (name: string) => bob.saveSessionTemplate({ params: { name }, body: body() })
    for (let index = 0; index < 100; index++) await save(`t${index}`)
    expect(await refusal(save('one more'))).toMatchObject({ code: 'too_many_templates' })
    await save('T7')
  })
})

test('defaults of an image are replaced, hidden from other users, removed once, and at most a hundred', async () => {
  const dora = await cluster.addUser('dora@localhost')
  const put = (image: string, cpu: string) =>
    dora.putImageDefaults({ body: { image, resources: { cpu }, environ: { A: '1' } } })
  await put(IMAGE, '1')
  await put(IMAGE, '2')
  const { items } = await dora.listImageDefaults()
  expect(items).toMatchObject([{ image: IMAGE, resources: { cpu: '2' }, environ: { A: '1' } }])
  expect((await cluster.api.listImageDefaults()).items).toEqual([])
  const remove = (api: ApiClient) => api.deleteImageDefaults({ query: { image: IMAGE } })
  expect(await refusal(remove(cluster.api))).toMatchObject({ code: 'image_defaults_not_found' })
  for (let index = 1; index < 100; index++) await put(`made/here:${index}`, '1')
  expect(await refusal(put('one/more:1', '1'))).toMatchObject({ code: 'too_many_image_defaults' })
  await put(IMAGE, '3')
  await remove(dora)
  expect(await refusal(remove(dora))).toMatchObject({ code: 'image_defaults_not_found' })
  await put('one/more:1', '1')
})

describe('a session that is scheduled for later', () => {
  test('the session waits until its time with that reason, outside of the queue, and one whose time comes starts', async () => {
    await cluster.join()
    const startsAt = new Date(Date.now() + 86_400_000).toISOString()
    const later = await cluster.launch({ name: 'later', startsAt })
    expect(later.startsAt).toBe(startsAt)
    await expect.poll(() => cluster.reasonOf(later.id)).toBe('starts_later')
    expect(await cluster.api.getSession({ params: { id: later.id } })).toMatchObject({
      status: 'PENDING',
      queuePosition: null,
      reason: { message: `Scheduled: starts at ${startsAt} or later.`, notBefore: startsAt },
    })
    expect((await cluster.api.getResources({})).sessions.pending).toBe(0)
    // Other sessions start meanwhile.
    const now = await cluster.launch({ name: 'at-once' })
    await cluster.reach(now.id, 'RUNNING')
    expect((await cluster.api.getSession({ params: { id: later.id } })).status).toBe('PENDING')
    const soon = new Date(Date.now() + 2_000).toISOString()
    const running = await cluster.reach((await cluster.launch({ name: 'soon', startsAt: soon })).id, 'RUNNING')
    expect(Date.parse(running.startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(soon))
  })

  test('the session can be cancelled; a time in the past or too far away is refused', async () => {
    await cluster.join()
    const { id } = await cluster.launch({ startsAt: new Date(Date.now() + 86_400_000).toISOString() })
    await cluster.api.deleteSession({ params: { id } })
    await cluster.reach(id, 'CANCELLED')
    for (const ms of [-3_600_000, 366 * 86_400_000]) {
      const startsAt = new Date(Date.now() + ms).toISOString()
      expect(await refusal(cluster.launch({ startsAt }))).toMatchObject({
        code: 'bad_request',
        detail: { fields: [{ path: 'startsAt' }] },
      })
    }
  })

  test('what-if says that the session will wait', async () => {
    await cluster.join()
    const startsAt = new Date(Date.now() + 3_600_000).toISOString()
    expect(await cluster.api.whatIf({ body: body({ startsAt }) })).toMatchObject({
      startsNow: false,
      reason: { code: 'starts_later', notBefore: startsAt },
    })
  })
})

describe('a session that an admin launches for another user', () => {
  const person = async (email: string, role: 'user' | 'domain_admin' = 'user', domain = 'default') => {
    if (domain !== 'default') await cluster.api.createDomain({ body: { name: domain } }).catch(() => undefined)
    return cluster.api.createUser({
      body: { mustChangePassword: false, email, name: email, password: 'Their-own-pass-1', role, domain },
    })
  }

  test('the session belongs to the user, within their limits, with the admin as the actor', async () => {
    await cluster.join()
    const own = await cluster.addUser('eve@localhost')
    const { user: eve } = await own.me()
    const name = `one-core-${randomUUID()}`
    await cluster.api.createResourcePolicy({ body: { name, limits: { cpu: '1' } } })
    await cluster.api.assignResourcePolicy({ params: { name }, body: { userId: eve.id } })
    const session = await cluster.launch({ owner: 'Eve@localhost', resources: { cpu: '1' } })
    expect(session).toMatchObject({ ownerId: eve.id, ownerEmail: 'eve@localhost' })
    expect((await own.listSessions()).items.map(({ id }) => id)).toEqual([session.id])
    const { items } = await own.listSessionEvents({ params: { id: session.id } })
    expect(items[0]?.actor).toBe('admin@localhost')
    const tooLarge = { owner: eve.id, resources: { cpu: '2' } }
    expect(await refusal(cluster.launch(tooLarge))).toMatchObject({ code: 'over_user_policy' })
    expect(await refusal(cluster.api.whatIf({ body: body(tooLarge) }))).toMatchObject({ code: 'over_user_policy' })
    await cluster.reach(session.id, 'RUNNING')
    expect((await cluster.api.getResources({ query: { owner: eve.id } })).left).toMatchObject({ cpu: '0' })
    const { items: entries } = await cluster.api.listAuditLog({ query: { action: 'createSession' } })
    const entry = entries.find(({ target }) => target === `session:${session.id}`)
    expect(entry).toMatchObject({ actor: 'admin@localhost', detail: { owner: 'Eve@localhost' } })
  })

  test("only an admin of the user's domain may launch it, and never for a superadmin", async () => {
    await cluster.join()
    await person('lab-chief@localhost', 'domain_admin', 'lab')
    await person('lab-user@localhost', 'user', 'lab')
    const far = await person('far@localhost')
    const chief = await cluster.signIn('lab-chief@localhost')
    const user = await cluster.signIn('lab-user@localhost')
    const { user: top } = await cluster.api.me()
    const launch = (api: ApiClient, owner: string) => cluster.launch({ owner }, api)
    expect(await launch(chief, 'lab-user@localhost')).toMatchObject({ ownerEmail: 'lab-user@localhost' })
    for (const owner of [far.id, far.email, top.id, 'nobody@localhost']) {
      expect(await refusal(launch(chief, owner))).toMatchObject({ code: 'user_not_found' })
      expect(await refusal(chief.getResources({ query: { owner } }))).toMatchObject({ code: 'user_not_found' })
    }
    expect(await refusal(launch(user, 'lab-chief@localhost'))).toMatchObject({ code: 'forbidden' })
    // Naming oneself as the owner is no delegation.
    expect(await launch(user, 'lab-user@localhost')).toMatchObject({ ownerEmail: 'lab-user@localhost' })
  })

  test('the session mounts no folder of the user that the admin may not mount, and none automatically', async () => {
    const storage = join(cluster.source.dataDir, 'storage')
    const marker = (await readFile(join(storage, '.berth-storage'), 'utf8')).trim()
    await cluster.join({ storage: [marker] })
    const finn = await cluster.addUser('finn@localhost')
    await finn.createFolder({ body: { name: '.secrets' } })
    const diary = await finn.createFolder({ body: { name: 'diary' } })
    const session = await cluster.launch({ owner: 'finn@localhost' })
    expect(session.folders).toEqual([])
    for (const folder of ['diary', diary.id]) {
      const stolen = cluster.launch({ owner: 'finn@localhost', folders: [{ folder }] })
      expect(await refusal(stolen)).toMatchObject({ code: 'folder_not_found' })
    }
    const own = await cluster.launch({}, finn)
    expect(own.folders.map(({ name }) => name)).toEqual(['.secrets'])
  })
})
