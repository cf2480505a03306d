import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Folder } from '#manager/contract'
import { type Cli, createCli, outcomeOf } from '../../fixtures/cli.ts'
import { startCuttingProxy } from '../../fixtures/cutting-proxy.ts'
import { startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'

const MiB = 1024 * 1024

let manager: TestManager
let cli: Cli
let folder: Folder
let directory: string
let local: string
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  manager = stack.use(await startTestManager())
  cli = stack.use(await createCli())
  local = stack.use(await temporaryDirectory()).path
  await cli.signIn(manager.url)
  folder = await (await manager.signIn()).api.createFolder({ body: { name: 'data' } })
  directory = join(manager.dataDir, 'storage', 'folders', folder.id)
})
afterAll(() => stack.disposeAsync())

test('a file is uploaded to a path, or into a directory under its own name, with its modification time', async () => {
  const path = join(local, 'notes.txt')
  await writeFile(path, 'hello')
  await utimes(path, 1_700_000_000, 1_700_000_000)
  const done = await cli.run(['folder', 'upload', 'data', path, '--json'])
  expect(done).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(done.out)).toEqual({ files: 1, bytes: 5, skipped: [], twins: [], failed: [] })
  expect((await stat(join(directory, 'notes.txt'))).mtimeMs).toBe(1_700_000_000_000)
  expect((await cli.run(['folder', 'upload', 'data', path, 'deep/er/other.txt'])).code).toBe(0)
  expect((await cli.run(['folder', 'upload', 'data', path, 'deep/'])).code).toBe(0)
  expect(await readFile(join(directory, 'deep/er/other.txt'), 'utf8')).toBe('hello')
  expect(await readFile(join(directory, 'deep/notes.txt'), 'utf8')).toBe('hello')
})

test('a tree is uploaded without its links; taken names are replaced, refused or numbered', async () => {
  const tree = join(local, 'tree')
  await mkdir(join(tree, 'a/b'), { recursive: true })
  for (let i = 0; i < 40; i++) await writeFile(join(tree, i % 2 ? 'a' : 'a/b', `${i} ü.txt`), String(i))
  await symlink('/etc', join(tree, 'a/link'))
  const first = await cli.run(['folder', 'upload', 'data', tree, '--json'])
  expect(first.code).toBe(0)
  expect(JSON.parse(first.out)).toMatchObject({ files: 40, skipped: [join(tree, 'a/link')] })
  expect(await readdir(join(directory, 'tree/a/b'))).toHaveLength(20)
  expect(await readFile(join(directory, 'tree/a/7 ü.txt'), 'utf8')).toBe('7')
  expect((await cli.run(['folder', 'upload', 'data', tree])).code).toBe(0)
  const refused = await cli.run(['folder', 'upload', 'data', tree, '--on-conflict', 'fail', '--json'])
  expect(refused.code).toBe(1)
  expect((JSON.parse(refused.out) as { failed: unknown[] }).failed).toHaveLength(40)
})

test('a folder is made for data or models, a copy of it is for the same, and the owner changes that', async () => {
  const ask = async (...words: string[]) => {
    const { code, out } = await cli.run(['folder', ...words, '--json'])
    return code === 0 ? (JSON.parse(out) as Folder).usageMode : code
  }
  expect(await ask('create', 'weights', '--usage-mode', 'model')).toBe('model')
  expect(await ask('clone', 'weights', 'weights-2')).toBe('model')
  expect(await ask('usage-mode', 'weights-2', 'data')).toBe('data')
  expect(await ask('rename', 'weights-2', 'pictures')).toBe('data')
  expect(await ask('usage-mode', 'weights', 'other')).toBe(2)
  expect((await cli.run(['folder', 'ls'])).out).toMatch(
    /^data +you +general .*\npictures +you +data .*\nweights +you +model /m,
  )
})

test('files that may be run, or that are for their owner alone, stay so: small and large ones, alone, in a tree and in a sync, up and down', async () => {
  const tree = join(local, 'programs')
  await mkdir(join(tree, 'bin'), { recursive: true })
  const files = { 'bin/small': 20, 'bin/medium': 2 * MiB, 'bin/large': 5 * MiB }
  for (const [name, size] of Object.entries(files)) {
    await writeFile(join(tree, name), Buffer.alloc(size, 1), { mode: 0o700 })
  }
  await writeFile(join(tree, 'bin/plain'), 'plain', { mode: 0o600 })
  await chmod(join(tree, 'bin/medium'), 0o755)
  const modes = async (top: string) => {
    const found = ['bin/large', 'bin/medium', 'bin/plain', 'bin/small'].map(
      async name => (await stat(join(top, name))).mode,
    )
    return (await Promise.all(found)).map(mode => mode & 0o777)
  }
  const kept = [0o700, 0o755, 0o600, 0o700]
  const ok = async (...words: string[]) => expect(await cli.run(['folder', ...words])).toMatchObject({ code: 0 })
  await ok('upload', 'data', tree)
  expect(await modes(join(directory, 'programs'))).toEqual(kept)
  await ok('upload', 'data', join(tree, 'bin/small'), 'alone')
  expect((await stat(join(directory, 'alone'))).mode & 0o777).toBe(0o700)
  await ok('download', 'data', 'programs', join(local, 'down'))
  expect(await modes(join(local, 'down'))).toEqual(kept)
  await ok('sync', 'data', tree, 'synced', '--to')
  expect(await modes(join(directory, 'synced'))).toEqual(kept)
  await ok('sync', 'data', join(local, 'back'), 'synced', '--from')
  expect(await modes(join(local, 'back'))).toEqual(kept)
})

test('a folder is made with limits and for a project; the limits are changed one by one, and taken away', async () => {
  const json = async (...words: string[]) => {
    const { code, out } = await cli.run(['folder', ...words, '--json'])
    return code === 0 ? (JSON.parse(out) as Folder) : code
  }
  const limits = (folder: Folder | number) =>
    typeof folder === 'number' ? folder : [folder.limit?.bytes ?? null, folder.fileLimit?.files ?? null]
  expect(limits(await json('create', 'limited', '--max-size', '20m', '--max-files', '500'))).toEqual([20 * MiB, 500])
  expect(limits(await json('limit', 'limited', '1g'))).toEqual([1024 * MiB, 500])
  expect(limits(await json('limit', 'limited', '--files', '7'))).toEqual([1024 * MiB, 7])
  expect(limits(await json('limit', 'limited', 'unlimited', '--files', 'unlimited'))).toEqual([null, null])
  const wrong = [
    ['limit', 'limited'],
    ['limit', 'limited', 'much'],
    ['limit', 'limited', '--files', '0'],
  ]
  for (const words of wrong) expect(await json(...words)).toBe(2)
  const { api } = await manager.signIn()
  const project = await api.createGroup({ body: { name: 'readers' } })
  const { user } = await api.me()
  await api.addGroupMember({ params: { id: project.id, userId: user.id } })
  const shared = await json('create', 'shared', '--project', project.id, '--read-only')
  expect(shared).toMatchObject({ group: { id: project.id }, ownerId: null, permission: 'ro' })
  // A superadmin who is no member makes folders of a project, too.
  const others = await api.createGroup({ body: { name: 'others' } })
  expect(await json('create', 'theirs', '--project', 'others')).toMatchObject({
    group: { id: others.id },
    ownerId: null,
  })
})

test('a folder in the trash is restored with its files, by its name there', async () => {
  expect((await cli.run(['folder', 'create', 'thrown'])).code).toBe(0)
  await writeFile(join(local, 'kept'), 'kept')
  expect((await cli.run(['folder', 'upload', 'thrown', join(local, 'kept')])).code).toBe(0)
  expect((await cli.run(['folder', 'restore', 'thrown'])).code).toBe(4)
  expect((await cli.run(['folder', 'rm', 'thrown'])).code).toBe(0)
  expect((await cli.run(['folder', 'ls', 'thrown'])).code).toBe(4)
  const { code, out } = await cli.run(['folder', 'restore', 'thrown', '--json'])
  expect([code, (JSON.parse(out) as Folder).status]).toEqual([0, 'ready'])
  expect((await cli.run(['folder', 'ls', 'thrown'])).out).toContain('kept')
})

test('exit codes for a missing folder, a missing file, and a missing sign-in', async () => {
  expect((await cli.run(['folder', 'upload', 'nowhere', join(local, 'notes.txt')])).code).toBe(4)
  expect((await cli.run(['folder', 'upload', 'data', join(local, 'missing')])).code).toBe(2)
  await using stranger = await createCli()
  expect((await stranger.run(['folder', 'upload', 'data', join(local, 'notes.txt')])).code).toBe(3)
})

test('the upload of a large file survives five cut connections, and the same command continues it after Ctrl-C', async () => {
  const content = randomBytes(24 * MiB)
  const path = join(local, 'large.bin')
  await writeFile(path, content)
  await using relay = await startCuttingProxy(manager.url, {
    cuts: 5,
    afterBytes: 3 * MiB,
    host: new URL(manager.url).host,
  })
  await using other = await createCli()
  await other.signIn(relay.url)
  const done = await other.run(['folder', 'upload', 'data', path])
  expect(done).toMatchObject({ code: 0 })
  expect(relay.cuts()).toBe(5)
  expect((await readFile(join(directory, 'large.bin'))).equals(content)).toBe(true)

  const parts = () => readdir(join(manager.dataDir, 'storage', 'uploads'))
  {
    await using slow = await startCuttingProxy(manager.url, {
      cuts: 0,
      afterBytes: 0,
      host: new URL(manager.url).host,
      bytesPerSecond: 8 * MiB,
    })
    await using third = await createCli()
    await third.signIn(slow.url)
    const child = third.start(['folder', 'upload', 'data', path, 'again.bin'])
    const outcome = outcomeOf(child)
    const received = async () => {
      const [part] = await parts()
      return (await stat(join(manager.dataDir, 'storage', 'uploads', part ?? 'none'))).size
    }
    await expect.poll(received, { interval: 20 }).toBeGreaterThan(8 * MiB)
    child.kill('SIGINT')
    expect((await outcome).code).toBe(130)
  }
  expect(await readdir(directory)).not.toContain('again.bin')
  const [kept] = await parts()
  const keptBytes = (await stat(join(manager.dataDir, 'storage', 'uploads', kept ?? 'none'))).size
  await using counting = await startCuttingProxy(manager.url, {
    cuts: 0,
    afterBytes: 0,
    host: new URL(manager.url).host,
  })
  await using fourth = await createCli()
  await fourth.signIn(counting.url)
  expect((await fourth.run(['folder', 'upload', 'data', path, 'again.bin'])).code).toBe(0)
  expect((await readFile(join(directory, 'again.bin'))).equals(content)).toBe(true)
  // Only the rest was sent again, or a little more if the manager had not seen the first command end.
  expect(counting.bytesUp()).toBeLessThan(content.length - keptBytes / 2)
  expect(await parts()).toEqual([])
})

test('a keypair signs every request of an upload', async () => {
  const { api } = await manager.signIn()
  const { accessKey, secretKey } = await api.createKeypair({ body: {} })
  const content = randomBytes(20 * MiB)
  const path = join(local, 'signed.bin')
  await writeFile(path, content)
  await using bare = await createCli()
  const environment = { BERTH_ENDPOINT: manager.url, BERTH_ACCESS_KEY: accessKey, BERTH_SECRET_KEY: secretKey }
  expect(await bare.run(['folder', 'upload', 'data', path], '', environment)).toMatchObject({ code: 0 })
  expect((await readFile(join(directory, 'signed.bin'))).equals(content)).toBe(true)
})

test('files of a folder are listed, made, moved, downloaded and deleted', async () => {
  await mkdir(join(directory, 'set/deep'), { recursive: true })
  await writeFile(join(directory, 'set/one.txt'), 'one')
  await writeFile(join(directory, 'set/deep/two.txt'), 'two')
  await symlink('/etc/passwd', join(directory, 'set/link'))
  await utimes(join(directory, 'set/one.txt'), 1_700_000_000, 1_700_000_000)
  const listed = await cli.run(['folder', 'ls', 'data:set', '--json'])
  expect(JSON.parse(listed.out)).toMatchObject([
    { name: 'deep', kind: 'directory' },
    { name: 'link', kind: 'link' },
    { name: 'one.txt', size: 3 },
  ])

  const got = await cli.run(['folder', 'download', 'data', 'set', join(local, 'copy'), '--json'])
  expect(got).toMatchObject({ code: 0 })
  expect(JSON.parse(got.out)).toEqual({ files: 2, bytes: 6, skipped: ['link'], aliases: [], renamed: [], failed: [] })
  expect((await readdir(join(local, 'copy'))).toSorted()).toEqual(['deep', 'one.txt'])
  expect(await readFile(join(local, 'copy/deep/two.txt'), 'utf8')).toBe('two')
  expect((await stat(join(local, 'copy/one.txt'))).mtimeMs).toBe(1_700_000_000_000)

  expect((await cli.run(['folder', 'mkdir', 'data', 'made/here'])).code).toBe(0)
  expect((await cli.run(['folder', 'mv', 'data', 'set/one.txt', 'made/here/'])).code).toBe(0)
  expect((await cli.run(['folder', 'mv', 'data', 'made/here/one.txt', 'made/1.txt'])).code).toBe(0)
  expect(await readFile(join(directory, 'made/1.txt'), 'utf8')).toBe('one')
  expect((await cli.run(['folder', 'rm', 'data', 'set', 'made'])).code).toBe(0)
  expect(await readdir(directory)).not.toContain('set')
  expect((await cli.run(['folder', 'download', 'data', 'set'])).code).toBe(4)
})

test('a download has what links lead to in the folder, and says which links are left out', async () => {
  await mkdir(join(directory, 'hub/blobs'), { recursive: true })
  await mkdir(join(directory, 'hub/snapshots'))
  await mkdir(join(directory, 'beside'))
  await writeFile(join(directory, 'hub/blobs/sha1'), 'weights')
  await writeFile(join(directory, 'beside/file'), 'x')
  for (const [name, target] of [
    ['hub/snapshots/model.bin', '../blobs/sha1'],
    ['hub/latest', 'snapshots'],
    ['hub/beside', '../beside'],
    ['hub/out', '../../../secret'],
    ['named', 'hub/snapshots'],
    ['model', 'hub/snapshots/model.bin'],
  ] as const)
    await symlink(target, join(directory, name))
  const { out } = await cli.run(['folder', 'download', 'data', 'hub', join(local, 'hub'), '--json'])
  expect(JSON.parse(out)).toMatchObject({
    files: 3,
    skipped: ['out'],
    aliases: [{ path: 'latest', target: 'hub/snapshots' }],
    failed: [],
  })
  expect(await readFile(join(local, 'hub/snapshots/model.bin'), 'utf8')).toBe('weights')
  expect(await readFile(join(local, 'hub/beside/file'), 'utf8')).toBe('x')
  for (const [from, at] of [
    ['named', 'named/model.bin'],
    ['model', 'model'],
    ['named/model.bin', 'model.bin'],
  ] as const) {
    expect(
      await cli.run(['folder', 'download', 'data', from, join(local, from.split('/').at(-1) ?? '')]),
    ).toMatchObject({ code: 0 })
    expect(await readFile(join(local, at), 'utf8')).toBe('weights')
  }
  expect((await cli.run(['folder', 'download', 'data', 'hub/out', join(local, 'out')])).code).not.toBe(0)

  // In the page, targets of links are listed, downloaded by a ticket and edited in place.
  const { api } = await manager.signIn()
  const params = { id: folder.id }
  const { items } = await api.listFiles({ params, query: { path: 'named' } })
  expect(items).toMatchObject([
    { name: 'model.bin', kind: 'link', target: { path: 'hub/blobs/sha1', kind: 'file', size: 7 } },
  ])
  const ticket = async (path: string) => {
    const { url } = await api.createDownload({ params, body: { paths: [path] } })
    const reply = await fetch(manager.url + url)
    return [reply.headers.get('content-disposition'), await reply.text()]
  }
  expect(await ticket('model')).toEqual([expect.stringContaining('model'), 'weights'])
  expect(await ticket('named')).toEqual([expect.stringContaining('named.zip'), expect.stringContaining('weights')])
  await expect(ticket('hub/out')).rejects.toMatchObject({ code: 'file_kind_refused' })
  await cli.run(['folder', 'rm', 'data', 'hub', 'beside', 'named', 'model'])
})

test.runIf(process.platform === 'linux')(
  'names that are not UTF-8 keep their bytes on the way to a folder and back',
  async () => {
    const raw = (...parts: readonly (string | number)[]) =>
      Buffer.concat(parts.map(part => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))))
    const tree = join(local, 'old')
    await mkdir(raw(`${tree}/d-`, 0xb0, 0xa1), { recursive: true })
    const names = [0xe8, 0xe9].map(byte => raw('latin1-', byte, '.txt'))
    for (const name of names) await writeFile(Buffer.concat([raw(`${tree}/d-`, 0xb0, 0xa1, '/'), name]), name)
    await writeFile(raw(`${tree}/large-`, 0xff), Buffer.alloc(2 * MiB, 1))
    expect(JSON.parse((await cli.run(['folder', 'upload', 'data', tree, '--json'])).out)).toMatchObject({
      files: 3,
      skipped: [],
      failed: [],
    })
    const there = raw(join(directory, 'old'), '/d-', 0xb0, 0xa1)
    const listed = async (at: Buffer) =>
      (await readdir(at, { encoding: 'buffer' })).map(name => name.toString('latin1')).toSorted()
    expect(await listed(there)).toEqual(['latin1-\xe8.txt', 'latin1-\xe9.txt'])
    const got = await cli.run(['folder', 'download', 'data', 'old', join(local, 'old-back'), '--json'])
    expect(JSON.parse(got.out)).toMatchObject({ files: 3, skipped: [], renamed: [], failed: [] })
    expect(await listed(raw(join(local, 'old-back'), '/d-', 0xb0, 0xa1))).toEqual([
      'latin1-\xe8.txt',
      'latin1-\xe9.txt',
    ])
    expect((await stat(raw(join(local, 'old-back'), '/large-', 0xff))).size).toBe(2 * MiB)
    const synced = await cli.run(['folder', 'sync', 'data', tree, 'old', '--to', '--delete', '--json'])
    expect(JSON.parse(synced.out)).toMatchObject({ files: 0, same: 3, deleted: 0 })
    // A directory whose own name is not valid text, into an existing directory.
    await mkdir(join(local, 'into'))
    await cli.run(['folder', 'download', 'data', 'old/d-\uefb0\uefa1', join(local, 'into')])
    expect(await listed(raw(join(local, 'into'), '/d-', 0xb0, 0xa1))).toHaveLength(2)
    await cli.run(['folder', 'rm', 'data', 'old'])
  },
)

test('files are copied within a folder, and moved and copied into another one; a name that is taken is refused', async () => {
  const { api } = await manager.signIn()
  const other = join(directory, '..', (await api.createFolder({ body: { name: 'archive' } })).id)
  await mkdir(join(directory, 'run/deep'), { recursive: true })
  await writeFile(join(directory, 'run/deep/log'), 'text')
  expect(await cli.run(['folder', 'cp', 'data', 'run', 'run-2'])).toMatchObject({ code: 0, err: '' })
  expect(await cli.run(['folder', 'cp', 'data', 'run', '/', '--to-folder', 'archive'])).toMatchObject({ code: 0 })
  const refused = await cli.run(['folder', 'mv', 'data', 'run', '/', '--to-folder', 'archive'])
  expect(refused).toMatchObject({ code: 1 })
  expect(refused.err).toContain('"run" exists already')
  const move = ['folder', 'mv', 'data', 'run', 'run', '--to-folder', 'archive', '--on-conflict', 'rename']
  expect(await cli.run(move)).toMatchObject({ code: 0, err: '' })
  expect((await readdir(other, { recursive: true })).toSorted()).toEqual([
    'run',
    'run (1)',
    'run (1)/deep',
    'run (1)/deep/log',
    'run/deep',
    'run/deep/log',
  ])
  expect(await readdir(directory)).not.toContain('run')
  // The transfer takes minutes: the command shows the progress, and Ctrl-C leaves nothing behind.
  await writeFile(join(directory, 'sparse'), '')
  await truncate(join(directory, 'sparse'), 64 * 2 ** 30)
  const child = cli.start(['folder', 'mv', 'data', 'sparse', '/', '--to-folder', 'archive'])
  const outcome = outcomeOf(child)
  child.stderr.once('data', () => child.kill('SIGINT'))
  expect((await outcome).code).not.toBe(0)
  expect(await readdir(directory)).toContain('sparse')
  await expect.poll(() => readdir(other)).toEqual(['run', 'run (1)'])
  await rm(join(directory, 'sparse'))
})

test('a download continues after a lost connection, and never follows a local link', async () => {
  const content = randomBytes(12 * MiB)
  await writeFile(join(directory, 'down.bin'), content)
  await using relay = await startCuttingProxy(manager.url, {
    cuts: 3,
    afterBytes: 3 * MiB,
    of: 'down',
    host: new URL(manager.url).host,
  })
  await using other = await createCli()
  await other.signIn(relay.url)
  const path = join(local, 'down.bin')
  expect(await other.run(['folder', 'download', 'data', 'down.bin', path])).toMatchObject({ code: 0 })
  expect(relay.cuts()).toBe(3)
  expect((await readFile(path)).equals(content)).toBe(true)

  const outside = join(local, 'outside')
  await mkdir(outside)
  await mkdir(join(local, 'trap'))
  await symlink(outside, join(local, 'trap/sub'))
  await mkdir(join(directory, 'trap/sub'), { recursive: true })
  await writeFile(join(directory, 'trap/sub/file'), 'x')
  expect((await cli.run(['folder', 'download', 'data', 'trap', local])).code).toBe(2)
  expect(await readdir(outside)).toEqual([])
})
