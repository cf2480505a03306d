import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FolderId } from '#manager/contract'
import { createMountedStorage } from './mounted-storage.ts'
import { makeMountPoint } from './mount-points.ts'

const STORAGE = '0f7c29de-6f4f-4c8e-9a55-3f7f1f2f9b10'
const folder = FolderId.parse('01990000-0000-7000-8000-000000000001')
const user = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

let root: string
const unnamed = (path: string) => ({ name: null, path })
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'berth-test-storage-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

test('a storage is available while its marker is there, and each change is reported', async () => {
  let changes = 0
  const storage = createMountedStorage([unnamed(join(root, 'away')), unnamed(root)], () => changes++)
  await storage.check()
  expect([storage.markers, changes]).toEqual([[], 0])
  await writeFile(join(root, '.berth-storage'), `${STORAGE}\n`)
  await storage.check()
  await storage.check()
  expect([storage.markers, changes]).toEqual([[STORAGE], 1])
  await rm(join(root, '.berth-storage'))
  await storage.check()
  expect([storage.markers, changes]).toEqual([[], 2])
})

test('an expected storage without a marker is away from the first check on, and the change is reported', async () => {
  let changes = 0
  const paths = [unnamed(join(root, 'usual')), { name: 'archive', path: root }]
  const storage = createMountedStorage(paths, () => changes++)
  expect(storage.away).toEqual([])
  await storage.check()
  expect([storage.away, changes]).toEqual([['archive'], 1])
  await writeFile(join(root, '.berth-storage'), `${STORAGE}\n`)
  await storage.check()
  expect([storage.away, storage.markers, changes]).toEqual([[], [STORAGE], 2])
})

test('a link in place of the marker or of a folder, or a foreign text, makes the storage unavailable', async () => {
  const storage = createMountedStorage([unnamed(root)], () => undefined)
  await writeFile(join(root, 'elsewhere'), STORAGE)
  await symlink('elsewhere', join(root, '.berth-storage'))
  await storage.check()
  expect(storage.markers).toEqual([])
  await rm(join(root, '.berth-storage'))
  await writeFile(join(root, '.berth-storage'), `${STORAGE}x`)
  await storage.check()
  expect(storage.markers).toEqual([])
  await rm(join(root, '.berth-storage'))
  await mkdir(join(root, '.berth-storage'))
  await storage.check()
  expect(storage.markers).toEqual([])
  await rm(join(root, '.berth-storage'), { recursive: true })

  await writeFile(join(root, '.berth-storage'), STORAGE)
  await mkdir(join(root, 'folders'))
  await symlink('/etc', join(root, 'folders', folder))
  await expect(storage.directoryOf({ storage: STORAGE, folder, path: 'data' })).rejects.toMatchObject({
    code: 'folder_not_found',
  })
})

test('a folder is found only on its own storage, which is checked each time', async () => {
  const storage = createMountedStorage([unnamed(root)], () => undefined)
  await mkdir(join(root, 'folders', folder), { recursive: true })
  await expect(storage.directoryOf({ storage: STORAGE, folder, path: 'data' })).rejects.toMatchObject({
    code: 'storage_away',
  })
  await writeFile(join(root, '.berth-storage'), STORAGE)
  expect(await storage.directoryOf({ storage: STORAGE, folder, path: 'data' })).toBe(join(root, 'folders', folder))
  const other = FolderId.parse('01990000-0000-7000-8000-000000000002')
  await expect(storage.directoryOf({ storage: STORAGE, folder: other, path: 'data' })).rejects.toMatchObject({
    code: 'folder_not_found',
  })
})

test('the directories of a mount point are made once', async () => {
  await makeMountPoint(root, 'a/b c/d', user)
  await makeMountPoint(root, 'a/b c/d', user)
  expect((await stat(join(root, 'a/b c/d'))).isDirectory()).toBe(true)
})

test.each(['link', 'file', 'link/deeper', 'deep/link/x'])(
  'nothing is made through a link or a file: %s',
  async path => {
    const outside = join(root, 'outside')
    const home = join(root, 'home')
    await mkdir(outside)
    await mkdir(join(home, 'deep'), { recursive: true })
    await symlink(outside, join(home, 'link'))
    await symlink(outside, join(home, 'deep/link'))
    await writeFile(join(home, 'file'), '')
    await expect(makeMountPoint(home, path, user)).rejects.toMatchObject({ code: 'kernel_create_failed' })
    expect(await readdir(outside)).toEqual([])
  },
)

test('a storage into which the agent may not look is said to be closed, not to have lost the folder', async () => {
  const denied = () => Promise.reject(Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' }))
  await writeFile(join(root, '.berth-storage'), STORAGE)
  const storage = createMountedStorage([unnamed(root)], () => undefined, denied)
  await expect(storage.directoryOf({ storage: STORAGE, folder, path: 'data' })).rejects.toMatchObject({
    code: 'storage_away',
    detail: { why: expect.stringContaining('no_root_squash') as string },
  })
})
