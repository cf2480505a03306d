import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ApiClient, type Folder, type SessionId, type UserId } from '#manager/contract'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
let agent: ScriptedAgent
/** Owner of the folder. */
let ada: ApiClient
/** Member of the folder. */
let bob: { api: ApiClient; id: UserId }
let folder: Folder
beforeAll(async () => {
  cluster = await startSessionsCluster({ slowTickMs: 200, sweepMs: 50 })
  ada = await cluster.addUser('ada@localhost')
  const api = await cluster.addUser('bob@localhost')
  bob = { api, id: (await api.me()).user.id }
})
let counter = 0
beforeEach(async () => {
  await cluster.reset()
  const storage = join(cluster.source.dataDir, 'storage')
  agent = await cluster.join({ storage: [(await readFile(join(storage, '.berth-storage'), 'utf8')).trim()] })
  folder = await ada.createFolder({ body: { name: `data-${++counter}` } })
  const { id } = await ada.inviteToFolder({
    params: { id: folder.id },
    body: { email: 'bob@localhost', permission: 'ro' },
  })
  await bob.api.acceptFolderInvitation({ params: { id } })
})
afterAll(() => cluster[Symbol.asyncDispose]())

const inAYear = () => new Date(Date.now() + 364 * 86_400_000).toISOString()
const launch = (api: ApiClient, startsAt?: string) =>
  cluster.launch({ folders: [{ folder: folder.id }], ...(startsAt === undefined ? {} : { startsAt }) }, api)
const trash = () => ada.trashFolder({ params: { id: folder.id } })
const remove = () => ada.deleteFolder({ params: { id: folder.id } })
const uninvite = () => ada.deleteFolderMember({ params: { id: folder.id, userId: bob.id } })
const stateOf = async (api: ApiClient, id: SessionId) => {
  const { status, reason } = await api.getSession({ params: { id } })
  return { status, code: reason.code, cause: reason.cause }
}
const cancelled = { status: 'CANCELLED', code: 'folder_deleted', cause: 'folder_deleted_wait' }

test('a session that waits for a year does not keep the folder of which its owner was removed: it ends with the folder', async () => {
  const { id } = await launch(bob.api, inAYear())
  await uninvite()
  await expect.poll(() => stateOf(bob.api, id)).toMatchObject({ status: 'PENDING', code: 'folder_withdrawn' })
  await trash()
  await expect.poll(() => stateOf(bob.api, id)).toMatchObject({ status: 'PENDING', code: 'folder_withdrawn' })
  await remove()
  await expect.poll(() => stateOf(bob.api, id)).toEqual(cancelled)
})

test('sessions with the right to a folder wait while it is in the trash, and start once it is restored', async () => {
  const [own, other] = [await launch(ada, inAYear()), await launch(bob.api, inAYear())]
  await trash()
  for (const { id } of [own, other]) await cluster.comeToStart(id)
  for (const [api, { id }] of [
    [ada, own],
    [bob.api, other],
  ] as const) {
    await expect.poll(() => stateOf(api, id)).toMatchObject({ status: 'PENDING', code: 'folder_trashed' })
  }
  expect(agent.requests('create_kernel')).toEqual([])
  await ada.restoreFolder({ params: { id: folder.id } })
  for (const { id } of [own, other]) await cluster.reach(id, 'RUNNING')
  const folders = agent.requests('create_kernel').map(({ spec }) => spec.folders?.map(one => one.folder))
  expect(folders).toEqual([[folder.id], [folder.id]])
})

test('sessions that wait for a folder end when it is deleted for good, and never start without it', async () => {
  const sessions = [await launch(ada, inAYear()), await launch(bob.api, inAYear())]
  await trash()
  await remove()
  for (const { id } of sessions) await expect.poll(() => stateOf(cluster.api, id)).toEqual(cancelled)
  expect(agent.requests('create_kernel')).toEqual([])
})

test('the refusal names the sessions that the caller sees, and only the number of the others', async () => {
  const other = await cluster.reach((await launch(bob.api)).id, 'RUNNING')
  const foreign = await refusal(trash())
  expect(foreign).toMatchObject({
    code: 'folder_in_use',
    detail: { cause: 'folder_used_by_others', values: { name: folder.name, count: 1 } },
  })
  expect(JSON.stringify(foreign.detail)).not.toContain(other.name)
  const own = await cluster.reach((await launch(ada)).id, 'RUNNING')
  const both = await refusal(trash())
  expect(both.detail).toMatchObject({
    cause: 'folder_used_by_more',
    values: { name: folder.name, sessions: own.name, more: 1 },
  })
  expect(JSON.stringify(both.detail)).not.toContain(other.name)
})

test('a session that waits keeps no folder from a name with a dot once its owner was removed', async () => {
  await launch(bob.api, inAYear())
  await uninvite()
  const name = `.tools-${counter}`
  expect(await ada.updateFolder({ params: { id: folder.id }, body: { name } })).toMatchObject({ name })
})
