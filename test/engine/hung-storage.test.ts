import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Folder, isAppError } from '#manager/contract'
import { hangDirectory, type HungMount } from '../fixtures/hung-mount.ts'
import { type ManagerProcess, type Managers, startManagers } from '../fixtures/managers.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'

/**
 * A storage that neither works nor fails: calls to a part of it do not return. One manager serves it together with a healthy one. The tests
 * of this file build on each other and run in their order.
 */
const MANY = 100
/** A directory that hangs, among the many of a folder. */
const SILENT = 'entry-50'
const ANSWER = { timeout: 120_000 }

let managers: Managers
let manager: ManagerProcess
let api: ApiClient
let far: Folder
let near: Folder
/** The directory that hangs. */
let silent: string
let hung: HungMount | undefined
/** The reason if nothing can be made to hang here. */
let why: string | undefined
const directories = new AsyncDisposableStack()

beforeAll(async () => {
  const paths = {
    far: directories.use(await temporaryDirectory()).path,
    near: directories.use(await temporaryDirectory()).path,
  }
  managers = await startManagers()
  manager = await managers.spawn({ BERTH_STORAGE: `far=${paths.far},near=${paths.near}` }, ['unshare', '-m'])
  api = (await managers.admin(manager)).api
  const folderOn = async (storageHost: 'far' | 'near') => {
    const folder = await api.createFolder({ body: { name: `on-${storageHost}`, storageHost } })
    const path = join(paths[storageHost], 'folders', folder.id)
    await writeFile(join(path, 'notes.txt'), 'notes')
    for (let n = 0; n < MANY; n++) await mkdir(join(path, 'many', `entry-${n}`), { recursive: true })
    return { folder, path }
  }
  near = (await folderOn('near')).folder
  const { folder, path } = await folderOn('far')
  far = folder
  // The first job starts the thread.
  await listMany(far)
  silent = join(path, 'many', SILENT)
  hung = await hangDirectory(manager.pid, silent).catch((error: unknown) => {
    why = `NOT TESTED: a storage that hangs: ${(error as Error).message}`
    console.warn(why)
    return undefined
  })
})
afterAll(async () => {
  await hung?.[Symbol.asyncDispose]()
  await managers[Symbol.asyncDispose]()
  await directories.disposeAsync()
})

const listMany = ({ id }: Folder) => api.listFiles({ params: { id }, query: { path: 'many' } })
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (isAppError(error) ? error.code : String(error)),
  )

test('jobs and copies end with storage_away, a cancelled copy says so first, and everything else answers meanwhile', async ({
  skip,
}) => {
  if (why) skip(why)
  const clone = async (name: string) => {
    const { task } = await api.cloneFolder({ params: { id: far.id }, body: { name, storageHost: 'near' } })
    return { id: task?.id ?? '' }
  }
  const copies = await Promise.all([clone('fails'), clone('is-cancelled')])
  const waiting = Array.from({ length: 20 }, () => codeOf(listMany(far)))
  let ended = 0
  for (const one of waiting) void one.then(() => ended++)

  // The thread of the other storage, passwords (threads of libuv), and files of the same storage that do not hang.
  expect((await listMany(near)).items).toHaveLength(MANY)
  await managers.admin(manager)
  const top = await api.listFiles({ params: { id: far.id }, query: { path: '' } })
  expect(top.items.map(({ name }) => name)).toEqual(['many', 'notes.txt'])
  // The hanging call cannot be cancelled, so the answer does not wait for it.
  await api.cancelTask({ params: copies[1] })
  expect(ended).toBe(0)
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['storage_away']))

  const stateOf = async (params: { id: string }) => {
    const { status, error } = await api.getTask({ params })
    return [status, error?.code ?? null]
  }
  await expect.poll(() => stateOf(copies[0]), ANSWER).toEqual(['failed', 'storage_away'])
  await expect.poll(() => stateOf(copies[1]), ANSWER).toEqual(['cancelled', 'unavailable'])
  // Neither leaves an incomplete folder.
  const names = async () => (await api.listFolders()).items.map(({ name }) => name).toSorted()
  await expect.poll(names, ANSWER).toEqual(['on-far', 'on-near'])
})

test('a storage that answers again is used again, without a restart', async ({ skip }) => {
  if (why) skip(why)
  await hung?.[Symbol.asyncDispose]()
  hung = undefined
  await expect.poll(async () => (await listMany(far)).items.length, ANSWER).toBe(MANY)
})

test('a manager stops although threads of it hang', async ({ skip }) => {
  if (why) skip(why)
  await using _hung = await hangDirectory(manager.pid, silent)
  const waiting = codeOf(listMany(far))
  const inTime = Promise.race([waiting, delay(1_000, 'hangs')])
  expect(await inTime).toBe('hangs')
  await manager.kill('SIGTERM')
  expect(await waiting).not.toBe('done')
})
