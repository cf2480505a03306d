import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, type Folder, type SessionSpec } from '#manager/contract'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
let storage: string
beforeAll(async () => {
  cluster = await startSessionsCluster()
  storage = join(cluster.source.dataDir, 'storage')
})
afterAll(() => cluster[Symbol.asyncDispose]())

const marker = async () => (await readFile(join(storage, '.berth-storage'), 'utf8')).trim()
const withStorage = async () => cluster.join({ storage: [await marker()] })
const make = (name: string, api: ApiClient = cluster.api) => api.createFolder({ body: { name } })
const trash = ({ id }: Folder, api: ApiClient = cluster.api) => api.trashFolder({ params: { id } })
const namesOf = async (api: ApiClient, trashed = false) => {
  const { items } = await api.listFolders({ query: trashed ? { trashed: 'true' } : {} })
  return items.map(({ name }) => name)
}

describe('folders', () => {
  test('folders are created as directories, renamed, moved to the trash, restored, and deleted with their files', async () => {
    const folder = await make('first')
    expect(folder).toMatchObject({
      name: 'first',
      storageHost: 'local',
      group: null,
      permission: 'delete',
      status: 'ready',
    })
    const directory = join(storage, 'folders', folder.id)
    await writeFile(join(directory, 'notes'), 'kept')
    expect(await refusal(make('First'))).toMatchObject({ code: 'folder_exists' })

    const renamed = await cluster.api.updateFolder({ params: { id: folder.id }, body: { name: 'Second' } })
    expect(renamed).toMatchObject({ name: 'Second', version: 2 })
    expect((await trash(folder)).status).toBe('trashed')
    expect((await trash(folder)).status).toBe('trashed')
    expect([await namesOf(cluster.api), await namesOf(cluster.api, true)]).toEqual([[], ['Second']])
    expect((await cluster.api.restoreFolder({ params: { id: folder.id } })).status).toBe('ready')
    expect(await readdir(directory)).toEqual(['notes'])

    const remove = () => cluster.api.deleteFolder({ params: { id: folder.id } })
    expect(await refusal(remove())).toMatchObject({ code: 'folder_not_trashed' })
    await trash(folder)
    await remove()
    expect(await refusal(remove())).toMatchObject({ code: 'folder_not_found' })
    await expect.poll(() => readdir(join(storage, 'folders'))).toEqual([])
    await expect.poll(() => readdir(join(storage, 'removed'))).toEqual([])
  })

  test('listing folders measures them, and the next list has their size', async () => {
    const folder = await make('sized')
    const directory = join(storage, 'folders', folder.id)
    await mkdir(join(directory, 'deep'))
    await writeFile(join(directory, 'deep/large'), Buffer.alloc(300_000, 1))
    expect(folder.usage).toBeNull()
    const usage = async () => (await cluster.api.listFolders()).items.find(({ id }) => id === folder.id)?.usage
    await expect.poll(usage).toMatchObject({ files: 2 })
    const measured = await usage()
    expect(measured?.bytes).toBeGreaterThanOrEqual(300_000)
    expect(measured?.bytes).toBeLessThan(400_000)
    // The sizes are new, so another query measures nothing.
    await writeFile(join(directory, 'more'), '')
    for (let look = 0; look < 3; look++) expect(await usage()).toEqual(measured)
    await trash(folder)
    await cluster.api.deleteFolder({ params: { id: folder.id } })
  })

  test('the name of a folder in the trash is free, and a new folder of that name prevents its restoration', async () => {
    const first = await make('twice')
    await trash(first)
    const second = await make('twice')
    expect(await refusal(cluster.api.restoreFolder({ params: { id: first.id } }))).toMatchObject({
      code: 'folder_exists',
    })
    await trash(second)
    await cluster.api.restoreFolder({ params: { id: first.id } })
    await trash(first)
  })

  test('folders of other users do not exist', async () => {
    await withStorage()
    const folder = await make('mine')
    const other = await cluster.addUser('other@localhost')
    const params = { id: folder.id }
    expect(await namesOf(other)).toEqual([])
    for (const call of [
      () => other.updateFolder({ params, body: { name: 'theirs' } }),
      () => other.trashFolder({ params }),
      () => other.restoreFolder({ params }),
      () => other.deleteFolder({ params }),
      () => other.createSession({ body: { image: 'berth/python:3.13', folders: [{ folder: folder.id }] } }),
    ]) {
      expect(await refusal(call())).toMatchObject({ code: 'folder_not_found' })
    }
    await make('mine', other)
    expect(await namesOf(other)).toEqual(['mine'])
    await trash(folder)
    await cluster.reset()
  })

  test('admins create folders of a project, and its members see them with their permission', async () => {
    const { api } = cluster
    const group = await api.createGroup({ body: { name: 'vision' } })
    const member = await cluster.addUser('member@localhost')
    const { items: users } = await api.listUsers({ query: { search: 'member@localhost' } })
    const userId = users[0]?.id
    if (!userId) throw new Error('no member')
    await api.addGroupMember({ params: { id: group.id, userId } })
    expect(await refusal(member.createFolder({ body: { name: 'set', group: 'vision' } }))).toMatchObject({
      code: 'forbidden',
    })
    // An administrator need not be a member.
    const folder = await api.createFolder({ body: { name: 'set', group: 'vision', permission: 'ro' } })
    expect(folder).toMatchObject({ group: { name: 'vision' }, usable: false, manageable: true })
    expect(await refusal(api.createFolder({ body: { name: 'set', group: 'nowhere' } }))).toMatchObject({
      code: 'group_not_found',
      detail: { cause: 'no_project_of_admin' },
    })
    await api.createDomain({ body: { name: 'elsewhere' } })
    const twin = await api.createGroup({ body: { name: 'vision', domain: 'elsewhere' } })
    expect(await refusal(api.createFolder({ body: { name: 'twin', group: 'vision' } }))).toMatchObject({
      detail: { cause: 'project_in_several_domains' },
    })
    expect(await api.createFolder({ body: { name: 'twin', group: twin.id } })).toMatchObject({ group: { id: twin.id } })
    const { user } = await api.me()
    await api.addGroupMember({ params: { id: group.id, userId: user.id } })
    expect((await member.listFolders()).items).toMatchObject([
      { name: 'set', permission: 'ro', usable: true, manageable: false },
    ])
    const dotted = api.createFolder({ body: { name: '.ssh', group: 'vision' } })
    expect(await refusal(dotted)).toMatchObject({ code: 'bad_request' })
    expect(await refusal(trash(folder, member))).toMatchObject({ code: 'forbidden' })

    const body = { image: 'berth/python:3.13', group: 'vision', folders: [{ folder: 'set' }] }
    await withStorage()
    const { items } = await member.createSession({ body })
    expect(items[0]?.folders).toEqual([{ folderId: folder.id, name: 'set', path: '/home/work/set', readOnly: true }])
    for (const { id } of items) await member.deleteSession({ params: { id } })
    await api.updateGroup({ params: { id: group.id }, body: { active: false } })
    const inDefault = { ...body, group: 'default' }
    expect(await refusal(member.createSession({ body: inDefault }))).toMatchObject({ code: 'group_inactive' })
    await api.updateGroup({ params: { id: group.id }, body: { active: true } })

    expect(await refusal(api.deleteGroup({ params: { id: group.id }, query: {} }))).toMatchObject({
      code: 'group_in_use',
    })
    await api.removeGroupMember({ params: { id: group.id, userId } })
    expect(await namesOf(member)).toEqual([])
    expect(await refusal(member.createSession({ body: { ...body, group: 'default' } }))).toMatchObject({
      code: 'folder_not_found',
    })
    await cluster.reset()
    await trash(folder)
  })

  test('the resource policy limits the number of folders and their storages', async () => {
    const user = await cluster.addUser('limited@localhost')
    await cluster.api.createResourcePolicy({ body: { name: 'two', maxFolders: 2 } })
    const { items } = await cluster.api.listUsers({ query: { search: 'limited@localhost' } })
    const userId = items[0]?.id
    if (!userId) throw new Error('no user')
    await cluster.api.assignResourcePolicy({ params: { name: 'two' }, body: { userId } })
    const made = await Promise.allSettled(['a', 'b', 'c', 'd'].map(name => make(name, user)))
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    expect(await refusal(make('e', user))).toMatchObject({
      code: 'over_folder_limit',
      detail: { policy: 'two', limit: 2 },
    })
    expect(await user.listStorageHosts()).toMatchObject({ folders: { count: 2, limit: 2 } })
    await cluster.api.updateResourcePolicy({
      params: { name: 'two' },
      body: { maxFolders: null, allowedStorageHosts: ['far'] },
    })
    expect(await user.listStorageHosts()).toMatchObject({ items: [], folders: { count: 2, limit: null } })
    expect(await refusal(make('e', user))).toMatchObject({ code: 'storage_host_not_found' })
  })
})

describe('a session with folders', () => {
  test('the session starts where the storage is, with its folders, which cannot go to the trash meanwhile', async () => {
    const { api } = cluster
    const [data, more] = [await make('data'), await make('more')]
    const folders = [{ folder: 'data' }, { folder: more.id, path: '/home/work/in/more', readOnly: true }]
    const without = await cluster.join()
    const session = await cluster.launch({ folders })
    await expect.poll(() => cluster.reasonOf(session.id)).toBe('storage_nowhere')
    expect(await api.whatIf({ body: { image: 'berth/python:3.13', folders } })).toMatchObject({
      startsNow: false,
      reason: { code: 'storage_nowhere' },
    })

    const agent = await withStorage()
    const running = await cluster.reach(session.id, 'RUNNING')
    expect(running.kernels[0]?.agentId).toBe(agent.id)
    expect(running.kernels[0]?.agentId).not.toBe(without.id)
    expect(agent.requests('create_kernel')[0]?.spec.folders).toEqual([
      { storage: await marker(), folder: data.id, path: 'data', readOnly: false },
      { storage: await marker(), folder: more.id, path: 'in/more', readOnly: true },
    ])
    const inUse = await refusal(trash(data))
    expect(inUse).toMatchObject({ code: 'folder_in_use' })
    expect(String(inUse.detail.why)).toContain(session.name)

    await api.updateFolder({ params: { id: data.id }, body: { name: 'renamed' } })
    expect((await api.getSession({ params: { id: session.id } })).folders[0]).toMatchObject({
      name: 'renamed',
      path: '/home/work/data',
    })
    await api.deleteSession({ params: { id: session.id } })
    await cluster.reach(session.id, 'TERMINATED')
    await trash(data)
    await trash(more)
    const gone = await refusal(api.restartSession({ params: { id: session.id } }))
    expect(gone).toMatchObject({ code: 'folder_not_found' })
    expect(String(gone.detail.why)).toContain('"renamed" is in the trash')
    await api.deleteFolder({ params: { id: data.id } })
    await expect.poll(async () => (await api.getSession({ params: { id: session.id } })).folders.length).toBe(1)
    const deleted = await refusal(api.restartSession({ params: { id: session.id } }))
    expect(deleted).toMatchObject({ code: 'folder_not_found', detail: { name: 'data' } })
    await cluster.reset()
  })

  test.each([
    ['two at one path', [{ folder: 'one' }, { folder: 'two', path: 'one' }], 'bad_request'],
    ['one inside the other', [{ folder: 'one' }, { folder: 'two', path: 'one/deep' }], 'bad_request'],
    ['outside of the home', [{ folder: 'one', path: '/etc' }], 'bad_request'],
    ['unknown', [{ folder: 'three' }], 'folder_not_found'],
  ])('a session is refused with folders that are %s', async (_, folders, code) => {
    await withStorage()
    const names = await namesOf(cluster.api)
    for (const name of ['one', 'two']) if (!names.includes(name)) await make(name)
    expect(await refusal(cluster.launch({ folders }))).toMatchObject({ code })
    expect((await cluster.api.listSessions({ query: { status: 'live' } })).total).toBe(0)
    await cluster.reset()
  })

  test('of a new session and a move of its folder to the trash at the same time, one is refused', async () => {
    await withStorage()
    for (let round = 0; round < 5; round++) {
      const folder = await make(`race-${round}`)
      const [launched, trashed] = await Promise.allSettled([
        cluster.launch({ folders: [{ folder: folder.id }] }),
        trash(folder),
      ])
      expect([launched.status, trashed.status].toSorted()).toEqual(['fulfilled', 'rejected'])
    }
    await cluster.reset()
  })
})

test('a session is started again with its files and with other folders', async () => {
  await withStorage()
  const [kept, added, left] = [await make('kept'), await make('added'), await make('left')]
  const old = await cluster.launch({ folders: [{ folder: 'kept' }, { folder: 'left' }] })
  await cluster.reach(old.id, 'RUNNING')
  await cluster.api.deleteSession({ params: { id: old.id } })
  await cluster.reach(old.id, 'TERMINATED')
  await trash(left)
  await cluster.api.deleteFolder({ params: { id: left.id } })
  const params = { id: old.id }
  await expect.poll(async () => (await cluster.api.getSession({ params })).folders.length).toBe(1)
  // Without the change it needs the deleted folder.
  expect(await refusal(cluster.api.restartSession({ params }))).toMatchObject({ code: 'folder_not_found' })
  const unknown = cluster.api.restartSession({ params, body: { folders: [{ folder: 'none' }] } })
  expect(await refusal(unknown)).toMatchObject({ code: 'folder_not_found' })
  const folders = [
    { folder: kept.id, readOnly: true },
    { folder: 'added', path: 'in/added' },
  ]
  const next = await cluster.api.restartSession({ params, body: { folders } })
  expect(next.folders).toMatchObject([
    { folderId: added.id, path: '/home/work/in/added', readOnly: false },
    { folderId: kept.id, path: '/home/work/kept', readOnly: true },
  ])
  await cluster.reach(next.id, 'RUNNING')
  await cluster.reset()
  for (const folder of [kept, added]) await trash(folder)
})

describe('a folder whose name starts with a dot', () => {
  test('the folder is mounted in each session of its owner, unless the user opts out', async () => {
    await withStorage()
    const user = await cluster.addUser('dotted@localhost')
    const [local, ssh, plain] = [await make('.local', user), await make('.ssh', user), await make('plain', user)]
    const whole = { name: '.local', path: '/home/work/.local', readOnly: false }
    const keys = { name: '.ssh', path: '/home/work/.ssh', readOnly: false }
    const start = async (spec: Partial<SessionSpec> = {}) => {
      const session = await cluster.launch(spec, user)
      await cluster.reach(session.id, 'RUNNING')
      await user.deleteSession({ params: { id: session.id } })
      return cluster.reach(session.id, 'TERMINATED')
    }
    const first = await start()
    expect(first.folders).toMatchObject([whole, keys])
    expect((await start({ folders: [{ folder: 'plain' }] })).folders).toMatchObject([whole, keys, { name: 'plain' }])
    expect((await start({ automount: false })).folders).toEqual([])
    const elsewhere = { folder: local.id, path: 'else', readOnly: true }
    expect((await start({ folders: [elsewhere] })).folders).toMatchObject([
      keys,
      { name: '.local', path: '/home/work/else', readOnly: true },
    ])
    for (const path of ['.local', '.local/share', '.ssh']) {
      const refused = await refusal(cluster.launch({ folders: [{ folder: plain.id, path }] }, user))
      expect(refused).toMatchObject({ code: 'bad_request' })
      expect(String(refused.detail.why)).toContain('is mounted automatically')
    }
    // The folder is mounted only in the owner's sessions. A session that is started again does not get automatic folders created since.
    expect((await cluster.launch()).folders).toEqual([])
    await make('.pyenv', user)
    const again = await user.restartSession({ params: { id: first.id } })
    expect(again.folders).toMatchObject([whole, keys])
    await user.deleteSession({ params: { id: again.id } })
    await cluster.reset()
    await trash(ssh, user)
    expect(await namesOf(user)).toEqual(['.local', '.pyenv', 'plain'])
  })
})

test('nothing is written while the storage is not mounted, and all files are there when it is mounted again', async () => {
  const folder = await make(`safe-${randomUUID()}`)
  await rename(storage, `${storage}-away`)
  try {
    const problem = expect.stringContaining('is not mounted') as string
    // A check of the storage in progress also answers requests that arrive meanwhile.
    await expect
      .poll(async () => (await cluster.api.listStorageHosts()).items)
      .toMatchObject([{ name: 'local', problem, cause: 'storage_at_unmounted', space: null }])
    expect(await refusal(make('lost'))).toMatchObject({ code: 'storage_away' })
    // A restart creates the usual directory again, but does not use an empty directory as the storage.
    await cluster.restart()
    expect(await refusal(make('lost'))).toMatchObject({ code: 'storage_away' })
    expect(await readdir(storage)).toEqual([])
  } finally {
    await rm(storage, { recursive: true, force: true })
    await rename(`${storage}-away`, storage)
  }
  expect(await readdir(join(storage, 'folders'))).toContain(folder.id)
  await make(`found-${randomUUID()}`)
})

test('a storage without folders may be replaced by another directory, one with folders may not', async () => {
  await using other = await startSessionsCluster()
  const path = join(other.source.dataDir, 'storage')
  const first = await readFile(join(path, '.berth-storage'), 'utf8')
  await rm(path, { recursive: true })
  await mkdir(path)
  expect((await other.api.listStorageHosts()).items).toMatchObject([{ name: 'local', problem: null }])
  expect(await readFile(join(path, '.berth-storage'), 'utf8')).not.toBe(first)
  await make('kept', other.api)
  await rm(join(path, '.berth-storage'))
  expect(await refusal(make('lost', other.api))).toMatchObject({ code: 'storage_away' })
})

test('the room on a storage is what df says of its file system', async () => {
  const { items } = await cluster.api.listStorageHosts()
  const { stdout } = await promisify(execFile)('df', ['--output=used,avail', '--block-size=1', storage])
  const [used = 0, free = 0] = stdout.trim().split(/\s+/).slice(-2).map(Number)
  // Other programs write meanwhile.
  const isNear = (value: number) => expect.closeTo(value, -10) as number
  expect(items).toMatchObject([{ space: { usedBytes: isNear(used), freeBytes: isNear(free) } }])
})

test('a storage that cannot be read is reported and prevents no start', async () => {
  await using other = await startSessionsCluster(undefined, {
    storage: new Map([
      ['odd', '/proc/self/cmdline'],
      ['none', '/nowhere/at/all'],
    ]),
  })
  const { items } = await other.api.listStorageHosts()
  expect(items.map(({ name, problem }) => [name, problem === null])).toEqual([
    ['odd', false],
    ['none', false],
  ])
  expect(await refusal(make('lost', other.api))).toMatchObject({ code: 'storage_away' })
})
