import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type ApiClient,
  type Folder,
  type FolderPermission,
  type SessionId,
  type SessionSpec,
  type UserId,
} from '#manager/contract'
import { type ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
let agent: ScriptedAgent
/** Owner of a folder. */
let ada: ApiClient
/** Member of the folder. */
let bob: { api: ApiClient; id: UserId }
let folder: Folder
beforeAll(async () => {
  cluster = await startSessionsCluster({ slowTickMs: 200, sweepMs: 50 })
  await cluster.api.createDomain({ body: { name: 'elsewhere' } })
  ada = await cluster.addUser('ada@localhost')
  const api = await cluster.addUser('bob@localhost')
  bob = { api, id: (await api.me()).user.id }
  folder = await ada.createFolder({ body: { name: 'data' } })
})
beforeEach(async () => {
  await cluster.reset()
  const storage = join(cluster.source.dataDir, 'storage')
  agent = await cluster.join({ storage: [(await readFile(join(storage, '.berth-storage'), 'utf8')).trim()] })
})
afterAll(() => cluster[Symbol.asyncDispose]())

async function invite(permission: FolderPermission): Promise<void> {
  const { id } = await ada.inviteToFolder({ params: { id: folder.id }, body: { email: 'bob@localhost', permission } })
  await bob.api.acceptFolderInvitation({ params: { id } })
}
const uninvite = () => ada.deleteFolderMember({ params: { id: folder.id, userId: bob.id } })

/** A session that waits for its start time, which comes after `meanwhile`. */
async function waiting(
  spec: Partial<SessionSpec>,
  meanwhile: (id: SessionId) => Promise<unknown>,
  api = bob.api,
): Promise<SessionId> {
  const startsAt = new Date(Date.now() + 86_400_000).toISOString()
  const { id } = await cluster.launch({ startsAt, ...spec }, api)
  await meanwhile(id)
  await cluster.comeToStart(id)
  return id
}
const withFolder: Partial<SessionSpec> = { folders: [{ folder: 'data' }] }
const reasonOf = (id: SessionId) =>
  cluster.api.getSession({ params: { id } }).then(({ status, reason }) => ({ status, ...reason }))
const mounts = (id: SessionId) =>
  agent
    .requests('create_kernel')
    .find(({ spec }) => spec.sessionId === id)
    ?.spec.folders?.map(({ readOnly }) => readOnly)

test('a member who lost the folder does not get it: the session waits, and starts when the right is back', async () => {
  await invite('rw')
  const id = await waiting(withFolder, uninvite)
  await expect
    .poll(() => reasonOf(id))
    .toMatchObject({
      status: 'PENDING',
      code: 'folder_withdrawn',
      cause: 'folder_right_withdrawn',
      values: { name: 'data' },
    })
  expect(agent.requests('create_kernel')).toEqual([])
  // A waiting session without a right does not block others, and has no position in the queue.
  const other = await cluster.launch({}, bob.api)
  await cluster.reach(other.id, 'RUNNING')
  expect(await cluster.api.getSession({ params: { id } })).toMatchObject({ queuePosition: null })
  await invite('rw')
  await cluster.reach(id, 'RUNNING')
  expect(mounts(id)).toEqual([false])
  await cluster.api.deleteSession({ params: { id } })
  await uninvite()
})

test('a right that was lowered to reading makes the mount read-only, and the timeline says so', async () => {
  await invite('rw')
  const id = await waiting(withFolder, () =>
    ada.updateFolderMember({ params: { id: folder.id, userId: bob.id }, body: { permission: 'ro' } }),
  )
  const session = await cluster.reach(id, 'RUNNING')
  expect(session.folders).toMatchObject([{ name: 'data', readOnly: true }])
  expect(mounts(id)).toEqual([true])
  expect(await cluster.timeline(id)).toContain('PENDING folder_lowered')
  await cluster.api.deleteSession({ params: { id } })
  await uninvite()
})

test('a right that is withdrawn between two attempts is not used by the second', async () => {
  await invite('rw')
  agent.script.create_kernel = async () => {
    await uninvite()
    throw new ScriptedError('kernel_create_failed', 'no')
  }
  const { id } = await cluster.launch(withFolder, bob.api)
  await expect.poll(() => cluster.reasonOf(id)).toBe('folder_withdrawn')
  expect(agent.requests('create_kernel')).toHaveLength(1)
})

test('a session waits whose owner left its project, or was moved to another domain', async () => {
  const { id: group } = await cluster.api.createGroup({ body: { domain: 'default', name: 'lab' } })
  await cluster.api.addGroupMember({ params: { id: group, userId: bob.id } })
  const left = await waiting({ group: 'lab' }, () =>
    cluster.api.removeGroupMember({ params: { id: group, userId: bob.id } }),
  )
  await expect.poll(() => cluster.reasonOf(left)).toBe('project_left')
  const moved = await waiting({}, () => cluster.move(bob.id, 'elsewhere'))
  await expect.poll(() => cluster.reasonOf(moved)).toBe('domain_left')
  expect(agent.requests('create_kernel')).toEqual([])
  bob.api = await cluster.move(bob.id, 'default')
})

test('a session waits whose image its domain may not use any more', async () => {
  const image = 'berth/python:3.13'
  const change = (domains: string[] | null) => cluster.api.updateImage({ body: { reference: image, domains } })
  const id = await waiting({}, () => change(['elsewhere']))
  await expect.poll(() => cluster.reasonOf(id)).toBe('image_withdrawn')
  await change(null)
  await cluster.reach(id, 'RUNNING')
})

test('a folder that an administrator may not mount any more is not in a session that they launched', async () => {
  await invite('rw')
  const asAdmin = await ada.inviteToFolder({ params: { id: folder.id }, body: { email: 'admin@localhost' } })
  await cluster.api.acceptFolderInvitation({ params: { id: asAdmin.id } })
  const { user: admin } = await cluster.api.me()
  const leave = () => ada.deleteFolderMember({ params: { id: folder.id, userId: admin.id } })
  const id = await waiting({ ...withFolder, owner: 'bob@localhost' }, leave, cluster.api)
  await expect
    .poll(() => reasonOf(id))
    .toMatchObject({
      code: 'folder_withdrawn',
      values: { who: 'admin@localhost' },
    })
})
