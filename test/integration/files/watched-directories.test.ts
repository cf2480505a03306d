import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EventHint, type Folder, USUAL_STORAGE_HOST, UserId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { createFileWatches, type FileWatches, type FileWatchesDeps } from '../../../manager/files/watches.ts'
import { silentLog } from '../../../manager/log.ts'
import { createStorageHosts } from '../../../manager/storage/storage-hosts.ts'
import { type Caller } from '../../../manager/users/authorize.ts'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

type User = Awaited<ReturnType<TestManager['addUser']>>

let manager: TestManager
let owner: User
beforeAll(async () => {
  manager = await startTestManager()
  owner = await manager.addUser('owner@example.org')
})
afterAll(() => manager[Symbol.asyncDispose]())

let made = 0
const makeFolder = () => owner.api.createFolder({ body: { name: `shown-${made++}` } })
const onDisk = ({ id }: Pick<Folder, 'id'>, path = '') => join(manager.dataDir, 'storage', 'folders', id, path)
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Paths of the hints that a stream has received for a folder. */
const hinted = (stream: Awaited<ReturnType<typeof openEventStream>>, { id }: Pick<Folder, 'id'>) =>
  stream
    .of('hint')
    .map(event => event.data as EventHint)
    .filter(hint => hint.topic === 'files' && hint.id === id)
    .map(hint => hint.path)

/** Writes files until a hint has come: the watch begins a moment after the stream. */
async function expectHint(stream: Awaited<ReturnType<typeof openEventStream>>, folder: Folder, path: string) {
  const before = hinted(stream, folder).length
  await writeFile(join(onDisk(folder, path), `file-${made++}`), 'by a session')
  await expect.poll(() => hinted(stream, folder).length).toBeGreaterThan(before)
}

test('a page is told of what a session changes in the directory that it shows, also in one that took its place', async () => {
  const folder = await makeFolder()
  await mkdir(onDisk(folder, 'shown/below'), { recursive: true })
  using shown = await openEventStream(manager.url, { ...owner, directories: [`${folder.id}/shown`] })
  await expectHint(shown, folder, 'shown')
  await rename(onDisk(folder, 'shown'), onDisk(folder, 'gone'))
  await mkdir(onDisk(folder, 'shown'))
  await pause(500)
  await expectHint(shown, folder, 'shown')
  expect(new Set(hinted(shown, folder))).toEqual(new Set(['shown']))

  // No hints are sent about a directory that no page shows.
  using other = await openEventStream(manager.url, { ...owner, directories: [`${folder.id}/gone`] })
  await expectHint(other, folder, 'gone')
  expect(new Set(hinted(other, folder))).toEqual(new Set(['gone']))
})

test('a link is not followed, and what is not a directory of a folder is refused', async () => {
  const folder = await makeFolder()
  const outside = join(manager.dataDir, 'outside')
  await mkdir(outside)
  await symlink(outside, onDisk(folder, 'link'))
  using stream = await openEventStream(manager.url, { ...owner, directories: [`${folder.id}/link`, `${folder.id}/`] })
  await expectHint(stream, folder, '')
  const before = hinted(stream, folder).filter(path => path === 'link')
  await writeFile(join(outside, 'secret'), '')
  await expectHint(stream, folder, '')
  expect(hinted(stream, folder).filter(path => path === 'link')).toEqual(before)
  expect(before).toEqual([])

  for (const directories of [['no-id/path'], Array<string>(17).fill(`${folder.id}/`)]) {
    using refused = await openEventStream(manager.url, { ...owner, directories })
    expect(refused.status).toBe(400)
  }
})

test('a member who loses the folder is told nothing more, and a stranger is told nothing at all', async () => {
  const folder = await makeFolder()
  const email = `reads-${made}@example.org`
  const [member, stranger] = [await manager.addUser(email), await manager.addUser(`looks-${made}@example.org`)]
  const params = { id: folder.id }
  await owner.api.inviteToFolder({ params, body: { email, permission: 'ro' } })
  const [invitation] = (await member.api.listFolderInvitations()).items
  await member.api.acceptFolderInvitation({ params: { id: invitation!.id } })
  const directories = [`${folder.id}/`]
  using hers = await openEventStream(manager.url, { ...member, directories })
  using theirs = await openEventStream(manager.url, { ...stranger, directories })
  using own = await openEventStream(manager.url, { ...owner, directories })
  await expectHint(hers, folder, '')
  await owner.api.deleteFolderMember({ params: { id: folder.id, userId: UserId.parse(member.id) } })
  await expectHint(own, folder, '')
  const told = hinted(hers, folder).length
  await expectHint(own, folder, '')
  expect(hinted(hers, folder)).toHaveLength(told)
  expect(hinted(theirs, folder)).toEqual([])
})

test('superadmins hear of no path in a private folder, by a hint or by a stream that resumes', async () => {
  const folder = await makeFolder()
  const { token } = await manager.signIn()
  using theirs = await openEventStream(manager.url, { token })
  using own = await openEventStream(manager.url, owner)
  await owner.api.makeDirectory({ params: { id: folder.id }, body: { path: 'private matter' } })
  await expect.poll(() => hinted(own, folder)).toEqual([''])
  await owner.api.makeDirectory({ params: { id: folder.id }, body: { path: 'private matter/within' } })
  await expect.poll(() => hinted(own, folder)).toEqual(['', 'private matter'])
  // Hints come in the order in which they were published.
  await owner.api.updateFolder({ params: { id: folder.id }, body: { name: `renamed-${made++}` } })
  await expect.poll(() => theirs.of('hint').some(({ data }) => (data as EventHint).topic === 'folder')).toBe(true)
  expect(hinted(theirs, folder)).toEqual([])

  const lastEventId = theirs.of('ping')[0]?.id
  using again = await openEventStream(manager.url, { token, lastEventId })
  await expect.poll(() => again.of('hint').some(({ data }) => (data as EventHint).topic === 'folder')).toBe(true)
  expect(hinted(again, folder)).toEqual([])
})

/** Watches of a separate service, with the test's limits. */
async function withWatches(
  options: Pick<FileWatchesDeps, 'limits' | 'byKernel'>,
  use: (watches: FileWatches, caller: Caller) => Promise<void>,
): Promise<void> {
  await using store = await openToRead({ ...manager.source, log: silentLog })
  const paths = new Map([[USUAL_STORAGE_HOST, join(manager.dataDir, 'storage')]])
  using watches = createFileWatches({
    store,
    storage: createStorageHosts({ db: store.db, paths }),
    log: silentLog,
    ...options,
  })
  const userId = UserId.parse(owner.id)
  const caller: Caller = {
    userId,
    email: '',
    role: 'user',
    domain: 'default',
    loginId: null,
    keypair: null,
    scopes: null,
  }
  await use(watches, caller)
}

test('directories beyond the limits are not watched, and none stays when the streams have ended', async () => {
  const folder = await makeFolder()
  const shown = ['a', 'b', 'c', 'd'].map(path => ({ folderId: folder.id, path }))
  await withWatches({ limits: { most: 3, mostPerUser: 2 } }, async (watches, caller) => {
    const end = watches.watch(caller, shown, () => undefined)
    expect(watches.count()).toBe(2)
    const endOther = watches.watch({ ...caller, userId: UserId.parse(folder.id) }, shown.slice(1), () => undefined)
    expect(watches.count()).toBe(3)
    end()
    expect(watches.count()).toBe(2)
    endOther()
    end()
    expect(watches.count()).toBe(0)
    await Promise.resolve()
  })
})

test('where the kernel does not watch, the directory is looked at again and again; a storm causes few hints', async () => {
  const folder = await makeFolder()
  const limits = { pollMs: 50, gatherMs: 20, busyMs: 400 }
  for (const byKernel of [() => Promise.resolve(undefined), undefined]) {
    await withWatches({ limits, ...(byKernel ? { byKernel } : {}) }, async (watches, caller) => {
      const hints: EventHint[] = []
      const end = watches.watch(caller, [{ folderId: folder.id, path: '' }], hint => hints.push(hint))
      await expect.poll(() => hints.length).toBe(1) // it has changed just before
      await writeFile(onDisk(folder, `new-${made++}`), '')
      await expect.poll(() => hints.length).toBeGreaterThan(1)
      expect(hints[0]).toMatchObject({ topic: 'files', id: folder.id, path: '' })
      const before = hints.length
      const begun = performance.now()
      const seconds = () => (performance.now() - begun) / 1000
      while (seconds() < 1) await writeFile(onDisk(folder, `storm-${made++}`), '')
      expect(hints.length - before).toBeLessThan(25 * seconds())
      end()
      await pause(100)
      const told = hints.length
      await writeFile(onDisk(folder, `late-${made++}`), '')
      await pause(150)
      expect(hints).toHaveLength(told)
    })
  }
})
