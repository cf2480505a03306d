import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Folder } from '#manager/contract'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const MIB = 2 ** 20
let cluster: SessionsCluster
let api: ApiClient
let storage: string
beforeAll(async () => {
  cluster = await startSessionsCluster()
  api = cluster.api
  storage = join(cluster.source.dataDir, 'storage', 'folders')
})
afterAll(() => cluster[Symbol.asyncDispose]())

const fill = ({ id }: Folder, name: string, bytes: number) => writeFile(join(storage, id, name), Buffer.alloc(bytes, 1))
const copy = (folder: Folder, name: string, as: string) => copied(api, folder, { paths: [name], to: '', name: as })

/** Follows a copy to its end: on a busy machine it continues as a task. */
async function copied(client: ApiClient, { id }: Folder, body: { paths: string[]; to: string; name?: string }) {
  let { task } = await client.copyFiles({ params: { id }, body: { ...body, onConflict: 'fail' } })
  while (task?.status === 'running') {
    await delay(50)
    task = await client.getCopy({ params: { id, taskId: task.id } })
  }
  if (task?.error) throw Object.assign(new Error(task.error.message), { code: task.error.code, detail: {} })
}

test('a folder at its limit takes no copy more; deleting makes room at once, and a higher limit too', async () => {
  const folder = await api.createFolder({ body: { name: 'small', maxBytes: 3 * MIB } })
  expect(folder.limit).toEqual({ bytes: 3 * MIB, enforced: false })
  await fill(folder, 'one', 2 * MIB)
  expect(await refusal(copy(folder, 'one', 'two'))).toMatchObject({ code: 'quota_folder_full' })
  await rm(join(storage, folder.id, 'one'))
  await fill(folder, 'half', MIB)
  // The count that refuses is at most a second old.
  await expect
    .poll(() =>
      copy(folder, 'half', 'other').then(
        () => 'done',
        () => 'refused',
      ),
    )
    .toBe('done')
  const raised = await api.updateFolder({ params: { id: folder.id }, body: { maxBytes: null } })
  expect(raised.limit).toBeNull()
  await copy(folder, 'half', 'more')
  await copy(folder, 'half', 'evenMore')
})

test('a resource policy limits all folders of a user together', async () => {
  await api.createResourcePolicy({ body: { name: 'total', maxFolderBytes: 4 * MIB } })
  const user = await cluster.addUser('total@localhost')
  const { items } = await api.listUsers({ query: { search: 'total@localhost' } })
  const userId = items[0]?.id
  if (!userId) throw new Error('no user')
  await api.assignResourcePolicy({ params: { name: 'total' }, body: { userId } })
  const [first, second] = [
    await user.createFolder({ body: { name: 'first' } }),
    await user.createFolder({ body: { name: 'second' } }),
  ]
  await fill(first, 'a', 3 * MIB)
  await mkdir(join(storage, second.id, 'in'))
  await fill(second, 'b', MIB)
  const again = copied(user, second, { paths: ['b'], to: 'in' })
  expect(await refusal(again)).toMatchObject({ code: 'quota_total_full' })
  const { folders } = await user.listStorageHosts()
  expect(folders.limitBytes).toBe(4 * MIB)
  expect(folders.usedBytes).toBeGreaterThanOrEqual(4 * MIB)
})
