import { mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Folder } from '#manager/contract'
import { resolveMounts } from '../../../manager/folders/mounts.ts'
import { silentLog } from '../../../manager/log.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { insertFolderClone } from '../../../manager/store/storage/folder-clones.ts'
import { type Caller } from '../../../manager/users/authorize.ts'
import { createCli } from '../../fixtures/cli.ts'
import { copyEnded } from '../../fixtures/copies.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

const MiB = 1024 * 1024

let manager: TestManager
let owner: { id: string; token: string; api: ApiClient }
let folder: Folder
const directoryOf = ({ id }: Pick<Folder, 'id'>) => join(manager.dataDir, 'storage', 'folders', id)
beforeAll(async () => {
  manager = await startTestManager()
  owner = await manager.addUser('owner@example.org')
  folder = await owner.api.createFolder({ body: { name: 'data' } })
  await mkdir(join(directoryOf(folder), 'deep/empty'), { recursive: true })
  await writeFile(join(directoryOf(folder), 'deep/file'), 'content')
  await writeFile(join(directoryOf(folder), 'deep/sparse'), 'bytes at the start')
  await truncate(join(directoryOf(folder), 'deep/sparse'), 64 * MiB + 3)
  await symlink('/etc/passwd', join(directoryOf(folder), 'link'))
})
afterAll(() => manager[Symbol.asyncDispose]())

const clone = (name: string, api = owner.api, id = folder.id) => api.cloneFolder({ params: { id }, body: { name } })
async function cloned(name: string, api = owner.api): Promise<Folder> {
  const begun = await clone(name, api)
  await copyEnded(api, begun.folder, begun)
  return begun.folder
}

test('a folder is copied to a new one of the caller, with its links as links', async ({ task: { result } }) => {
  const name = `copy-${result?.retryCount ?? 0}`
  const made = await cloned(name)
  expect(made).toMatchObject({ name, manageable: true, permission: 'delete' })
  expect((await readdir(directoryOf(made), { recursive: true })).toSorted()).toEqual([
    'deep',
    'deep/empty',
    'deep/file',
    'deep/sparse',
    'link',
  ])
  expect(await readFile(join(directoryOf(made), 'deep/file'), 'utf8')).toBe('content')
  const { size, blocks } = await stat(join(directoryOf(made), 'deep/sparse'))
  expect({ size, isSparse: blocks * 512 < MiB }).toEqual({ size: 64 * MiB + 3, isSparse: true })
  await expect(clone(name)).rejects.toMatchObject({ code: 'folder_exists' })
})

test('a member may clone what they may read; a stranger finds nothing', async () => {
  const reader = await manager.addUser('reader@example.org')
  await expect(clone('mine', reader.api)).rejects.toMatchObject({ code: 'folder_not_found' })
  expect((await reader.api.listFolders()).items).toEqual([])
  await owner.api.inviteToFolder({ params: { id: folder.id }, body: { email: 'reader@example.org', permission: 'ro' } })
  for (const { id } of (await reader.api.listFolderInvitations()).items)
    await reader.api.acceptFolderInvitation({ params: { id } })
  const made = await cloned('mine', reader.api)
  expect(made).toMatchObject({ ownerId: reader.id, permission: 'delete' })
})

test('a clone that takes long is a task; cancelled, its folder is deleted with all its files', async () => {
  const large = await owner.api.createFolder({ body: { name: 'large' } })
  // A sparse file takes long to copy, although it has no bytes on the disk.
  await writeFile(join(directoryOf(large), 'sparse'), '')
  await truncate(join(directoryOf(large), 'sparse'), 64 * 2 ** 30)
  const { folder: made, task } = await clone('half', owner.api, large.id)
  expect(task).toMatchObject({ kind: 'copy', status: 'running', target: 'half', copy: { folderId: made.id } })
  const params = { id: made.id, taskId: task?.id ?? '' }
  await expect.poll(async () => (await owner.api.getCopy({ params })).copy?.bytes).toBeGreaterThan(0)
  expect((await owner.api.cancelCopy({ params })).status).toBe('cancelled')
  expect((await owner.api.listFolders()).items.map(({ name }) => name)).not.toContain('half')
  await expect.poll(() => readdir(join(manager.dataDir, 'storage', 'folders'))).not.toContain(made.id)
})

test('a folder that is still being filled is mounted in no session, named or automatically', async () => {
  await using store = await openStore({ ...manager.source, log: silentLog, migrate: false })
  const [filled, dotted] = [
    await owner.api.createFolder({ body: { name: 'filled' } }),
    await owner.api.createFolder({ body: { name: '.dotted' } }),
  ]
  const caller = { userId: owner.id } as Caller
  const mount = (...folders: string[]) =>
    resolveMounts(store.db, caller, { folders: folders.map(each => ({ folder: each })) })
  expect((await mount('filled')).map(({ name }) => name)).toEqual(['filled', '.dotted'])
  for (const { id } of [filled, dotted]) await insertFolderClone(store.db, id)
  expect(await mount()).toEqual([])
  await expect(mount('filled')).rejects.toMatchObject({ code: 'folder_incomplete' })
  const { items } = await owner.api.listFolders()
  expect(items.filter(({ cloning }) => cloning).map(({ name }) => name)).toEqual(['.dotted', 'filled'])
})

test('a clone and a copy lack what lies too deep, and say so; a move of it is refused', async () => {
  await using cli = await createCli()
  await cli.signIn(manager.url)
  const { api } = await manager.signIn()
  const deep = await api.createFolder({ body: { name: 'deep' } })
  const params = { id: deep.id }
  await mkdir(join(directoryOf(deep), ...Array.from({ length: 131 }, () => 'd')), { recursive: true })
  await writeFile(join(directoryOf(deep), 'file'), 'x')
  const done = await cli.run(['folder', 'clone', 'deep', 'shallow', '--json'])
  expect(done).toMatchObject({ code: 0 })
  expect(done.err).toContain(`directories deep: ${Array(129).fill('d').join('/')}\n`)
  expect((await readdir(directoryOf(JSON.parse(done.out) as Folder))).toSorted()).toEqual(['d', 'file'])
  const spec = { paths: ['d'], to: '', name: 'copy', onConflict: 'fail' as const }
  const { task, leftOut } = await api.copyFiles({ params, body: spec })
  if (!task) expect(leftOut).toMatchObject({ total: 1 })
  const other = await api.createFolder({ body: { name: 'other' } })
  const body = { from: deep.id, mode: 'move' as const, paths: ['d'], to: '', onConflict: 'fail' as const }
  const moved = api.importFiles({ params: { id: other.id }, body })
  await expect(copyEnded(api, other, moved)).rejects.toMatchObject({ code: 'path_invalid' })
})

test('the command clones, and names a failure', async () => {
  await using cli = await createCli()
  await cli.signIn(manager.url)
  const { api } = await manager.signIn()
  const of = await api.createFolder({ body: { name: 'mine' } })
  await writeFile(join(directoryOf(of), 'file'), 'x')
  const done = await cli.run(['folder', 'clone', 'mine', 'again', '--json'])
  expect(done).toMatchObject({ code: 0, err: '' })
  expect(await readdir(directoryOf(JSON.parse(done.out) as Folder))).toEqual(['file'])
  expect(await cli.run(['folder', 'clone', 'mine', 'again'])).toMatchObject({ code: 1 })
  expect((await cli.run(['folder', 'clone', 'nowhere', 'again2'])).code).toBe(4)
})
