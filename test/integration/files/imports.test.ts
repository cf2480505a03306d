import { appendFile, chown, link, mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Folder, UserId } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { insertFolderClone } from '../../../manager/store/storage/folder-clones.ts'
import { copyEnded } from '../../fixtures/copies.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { refusal } from '../../fixtures/sessions-cluster.ts'

const GiB = 2 ** 30

let manager: TestManager
let owner: { id: string; token: string; api: ApiClient }
let source: Folder
let target: Folder
let count = 0

beforeAll(async () => {
  manager = await startTestManager({ timings: { recheckMs: 50 } })
  owner = await manager.addUser('owner@example.org')
})
afterAll(() => manager[Symbol.asyncDispose]())

const directoryOf = ({ id }: Pick<Folder, 'id'>) => join(manager.dataDir, 'storage', 'folders', id)
const inSource = (path: string) => join(directoryOf(source), path)
const inTarget = (path: string) => join(directoryOf(target), path)
/** Everything in a folder, except deleted files that are still on the storage. */
const treeOf = async (folder: Folder) => (await readdir(directoryOf(folder), { recursive: true })).toSorted()

type Body = Parameters<ApiClient['importFiles']>[0]['body']
const bring = (body: Omit<Body, 'from'>, api = owner.api) =>
  api.importFiles({ params: { id: target.id }, body: { from: source.id, ...body } })

/** Two folders; the first has `set/deep/file`, `set/link` and `one`. */
async function newFolders(): Promise<void> {
  count++
  source = await owner.api.createFolder({ body: { name: `source-${count}` } })
  target = await owner.api.createFolder({ body: { name: `target-${count}` } })
  await mkdir(inSource('set/deep'), { recursive: true })
  await writeFile(inSource('set/deep/file'), 'content', { mode: 0o755 })
  await symlink('/etc/passwd', inSource('set/link'))
  await writeFile(inSource('one'), 'one')
}

async function share(folder: Folder, email: string, api: ApiClient, permission: 'ro' | 'rw' | 'delete') {
  await owner.api.inviteToFolder({ params: { id: folder.id }, body: { email, permission } })
  for (const { id } of (await api.listFolderInvitations()).items) await api.acceptFolderInvitation({ params: { id } })
}

test('files and directories are copied into another folder, with their links as links and their permissions', async () => {
  await newFolders()
  await mkdir(inTarget('in'))
  expect(await bring({ paths: ['set', 'one'], to: 'in' })).toEqual({
    items: [
      { path: 'set', to: 'in/set' },
      { path: 'one', to: 'in/one' },
    ],
    task: null,
  })
  expect(await treeOf(target)).toEqual(['in', 'in/one', 'in/set', 'in/set/deep', 'in/set/deep/file', 'in/set/link'])
  expect((await stat(inTarget('in/set/deep/file'))).mode & 0o777).toBe(0o755)
  expect(await treeOf(source)).toEqual(['one', 'set', 'set/deep', 'set/deep/file', 'set/link'])
})

test('a move takes files and directories out of their folder; a name can be given, and both are in the audit log', async () => {
  await newFolders()
  await bring({ paths: ['set'], to: '', mode: 'move' })
  await bring({ paths: ['one'], to: 'set', name: 'two', mode: 'move' })
  expect(await treeOf(source)).toEqual([])
  expect(await treeOf(target)).toEqual(['set', 'set/deep', 'set/deep/file', 'set/link', 'set/two'])
  expect(await readFile(inTarget('set/two'), 'utf8')).toBe('one')
  await expect.poll(() => readdir(join(manager.dataDir, 'storage/removed'))).toEqual([])
  const { items } = await (await manager.signIn()).api.listAuditLog({ query: { limit: '20' } })
  expect(items.find(({ action }) => action === 'importFiles')).toMatchObject({
    target: `folder:${target.id}`,
    detail: { from: source.id, mode: 'move', path: 'one', to: 'set' },
  })
})

test('a name that is taken is refused before anything is copied, and copied with another name or instead of the other', async () => {
  await newFolders()
  await writeFile(inTarget('one'), 'of the target')
  // The copy would take minutes.
  await writeFile(inSource('large'), '')
  await truncate(inSource('large'), 64 * GiB)
  expect(await refusal(bring({ paths: ['large', 'one'], to: '', mode: 'move' }))).toMatchObject({
    code: 'file_exists',
    detail: { name: 'one', path: 'one', done: 0 },
  })
  expect(await treeOf(target)).toEqual(['one'])
  expect((await bring({ paths: ['one'], to: '', onConflict: 'rename' })).items).toEqual([
    { path: 'one', to: 'one (1)' },
  ])
  expect((await bring({ paths: ['one'], to: '', onConflict: 'replace', mode: 'move' })).items).toHaveLength(1)
  expect(await readFile(inTarget('one'), 'utf8')).toBe('one')
  expect(await treeOf(source)).not.toContain('one')
})

test('a copy needs the right to read there and to write here; a move the right to delete there', async () => {
  await newFolders()
  const name = `member-${count}@example.org`
  const member = await manager.addUser(name)
  const asked = (mode: 'copy' | 'move', onConflict: 'fail' | 'replace' = 'fail') =>
    refusal(bring({ paths: ['one'], to: '', mode, onConflict }, member.api))
  expect(await asked('copy')).toMatchObject({ code: 'folder_not_found' })
  await share(target, name, member.api, 'ro')
  expect(await asked('copy')).toMatchObject({ code: 'forbidden' })
  const writable = target
  target = await member.api.createFolder({ body: { name: `own-${count}` } })
  expect(await asked('copy')).toMatchObject({ code: 'folder_not_found', detail: { folderId: source.id } })
  await share(source, name, member.api, 'rw')
  expect(await asked('move')).toMatchObject({ code: 'forbidden', detail: { name: source.name } })
  expect((await bring({ paths: ['one'], to: '' }, member.api)).items).toHaveLength(1)
  await owner.api.updateFolderMember({
    params: { id: writable.id, userId: member.id },
    body: { permission: 'rw' },
  })
  target = writable
  expect(await asked('copy', 'replace')).toMatchObject({ code: 'forbidden' })
  expect(await treeOf(target)).toEqual([])
  expect(await readFile(inSource('one'), 'utf8')).toBe('one')
})

test('a copy that takes long is a task of the folder that gets the files; cancelled, nothing of it stays, and nothing was moved', async () => {
  await newFolders()
  await truncate(inSource('one'), 64 * GiB)
  const { items, task } = await bring({ paths: ['set', 'one'], to: '', mode: 'move' })
  expect(items.map(({ path }) => path)).toEqual(['set'])
  const params = { id: target.id, taskId: task?.id ?? '' }
  await expect.poll(async () => (await owner.api.getCopy({ params })).copy?.bytes).toBeGreaterThan(0)
  expect((await owner.api.listCopies({ params: { id: target.id } })).items.map(({ id }) => id)).toEqual([task?.id])
  expect((await owner.api.cancelCopy({ params })).status).toBe('cancelled')
  await expect.poll(() => treeOf(target)).toEqual(['set', 'set/deep', 'set/deep/file', 'set/link'])
  expect(await treeOf(source)).toEqual(['one'])
})

interface Member {
  readonly id: UserId
  readonly api: ApiClient
}
test.each<[string, string, (member: Member) => Promise<unknown>]>([
  [
    'the right to its folder is withdrawn',
    'folder_not_found',
    ({ id: userId }) => owner.api.deleteFolderMember({ params: { id: source.id, userId } }),
  ],
  [
    'its account is deactivated',
    'not_signed_in',
    async ({ id }) => (await manager.signIn()).api.updateUser({ params: { id }, body: { active: false } }),
  ],
  ['its person signs out', 'not_signed_in', ({ api }) => api.logout()],
])('a copy in progress ends when %s', async (_what, code, end) => {
  await newFolders()
  await mkdir(inSource('deep'))
  await writeFile(inSource('deep/large'), '')
  await truncate(inSource('deep/large'), 64 * GiB)
  const name = `ended-${count}@example.org`
  const member = await manager.addUser(name)
  await share(source, name, member.api, 'ro')
  target = await member.api.createFolder({ body: { name: `kept-${count}` } })
  const { task: copy } = await bring({ paths: ['deep'], to: '' }, member.api)
  const { task: clone } = await member.api.cloneFolder({ params: { id: source.id }, body: { name: `all-${count}` } })
  const { api: admin } = await manager.signIn()
  await end({ id: UserId.parse(member.id), api: member.api })
  for (const id of [copy?.id ?? '', clone?.id ?? '']) {
    await expect.poll(() => admin.getTask({ params: { id } })).toMatchObject({ status: 'failed', error: { code } })
  }
  expect(await treeOf(target)).toEqual([])
})

test('a directory that changes while it is moved stays whole where it is', async () => {
  await newFolders()
  // Enough for many changes during the copy.
  const MANY = 60
  for (let n = 0; n < MANY; n++) await writeFile(inSource(`set/${n}`), 'x')
  const over = new AbortController()
  // Change them in turn: otherwise a single file could be copied last, without time for a change before the comparison.
  const write = async () => {
    for (let n = 0; !over.signal.aborted; n++) await appendFile(inSource(`set/${n % MANY}`), '.')
  }
  const move = () => copyEnded(owner.api, target, bring({ paths: ['set'], to: '', mode: 'move' }))
  const [refused] = await Promise.all([refusal(move()).finally(() => over.abort()), write()])
  expect(refused).toMatchObject({
    code: 'file_changed',
    detail: { cause: 'changed_while_moved', values: { name: 'set' } },
  })
  expect(await treeOf(target)).toEqual([])
  expect(await readdir(inSource('set'))).toHaveLength(MANY + 2)
  await move()
  expect(await treeOf(source)).toEqual(['one'])
})

test('a move leaves out nothing: a directory with an entry that cannot be copied stays whole', async () => {
  if (process.getuid?.() !== 0) return
  await newFolders()
  const host = join(manager.dataDir, `host-${count}`)
  await writeFile(host, 'of the host')
  await chown(inSource('.'), 60_999, 60_999)
  await chown(inSource('one'), 60_999, 60_999)
  await link(host, inSource('set/hard'))
  expect(await refusal(bring({ paths: ['one', 'set'], to: '', mode: 'move' }))).toMatchObject({
    code: 'file_kind_refused',
    detail: { path: 'set', done: 1 },
  })
  expect(await treeOf(target)).toEqual(['one'])
  expect(await treeOf(source)).toEqual(['set', 'set/deep', 'set/deep/file', 'set/hard', 'set/link'])
  // A copy leaves the file out.
  await bring({ paths: ['set'], to: '' })
  expect(await treeOf(target)).toEqual(['one', 'set', 'set/deep', 'set/deep/file', 'set/link'])
})

test('a folder that is being filled, or is at its limit, takes and gives nothing; in one folder a move is a rename', async () => {
  await newFolders()
  await using store = await openStore({ ...manager.source, log: silentLog, migrate: false })
  const filled = await owner.api.createFolder({ body: { name: `filled-${count}`, maxBytes: 2 ** 20 } })
  await writeFile(inSource('big'), Buffer.alloc(3 * 2 ** 20, 1))
  const to = (folder: Folder, body: Partial<Body> = {}) => {
    const spec = { from: source.id, paths: ['big'], to: '', mode: 'move' as const, ...body }
    return copyEnded(owner.api, folder, owner.api.importFiles({ params: { id: folder.id }, body: spec }))
  }
  expect(await refusal(to(filled))).toMatchObject({ code: 'quota_folder_full' })
  await insertFolderClone(store.db, filled.id)
  expect(await refusal(to(filled))).toMatchObject({ code: 'folder_incomplete' })
  expect(await refusal(to(target, { from: filled.id }))).toMatchObject({ code: 'folder_incomplete' })
  const { ino } = await stat(inSource('big'))
  expect(await to(source, { to: 'set' })).toMatchObject({ items: [{ to: 'set/big' }], task: null })
  expect((await stat(inSource('set/big'))).ino).toBe(ino)
})
