import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Folder } from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
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
  await cli.signIn(manager.url)
  folder = await (await manager.signIn()).api.createFolder({ body: { name: 'data' } })
  directory = join(manager.dataDir, 'storage', 'folders', folder.id)
})
afterAll(() => stack.disposeAsync())
beforeEach(async () => {
  local = stack.use(await temporaryDirectory()).path
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true })
})

async function tree(top: string, files: Record<string, string | Buffer | null>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const at = join(top, path)
    await mkdir(content === null ? at : join(at, '..'), { recursive: true })
    if (content === null) continue
    await writeFile(at, content)
    await utimes(at, 1_700_000_000.5, 1_700_000_000.5)
  }
}
async function contents(top: string): Promise<Record<string, string | null>> {
  const entries = await readdir(top, { recursive: true, withFileTypes: true })
  const found: Record<string, string | null> = {}
  for (const entry of entries) {
    const at = join(entry.parentPath, entry.name)
    if (entry.isFile()) found[at.slice(top.length + 1)] = await readFile(at, 'latin1')
    else if (entry.isDirectory() && (await readdir(at)).length === 0) found[at.slice(top.length + 1)] = null
  }
  return found
}
async function sync(args: readonly string[], by = cli) {
  const { code, out, err } = await by.run(['folder', 'sync', 'data', ...args, '--json'])
  return { code, err, result: (out === '' ? {} : JSON.parse(out)) as Record<string, unknown> }
}

test('berth folder sync sends a tree with empty directories, then only changes, and deletes only on request', async () => {
  const files = {
    'a.txt': 'one',
    'deep/b ü.txt': 'two',
    'deep/er/c': 'three',
    'none/here': null,
    'large.bin': randomBytes(3 * MiB),
  }
  await tree(local, files)
  await symlink('/etc', join(local, 'link'))
  await tree(directory, { 'extra/file': 'x', 'deep/old': 'y' })
  expect(await sync([local, '--to'])).toMatchObject({
    code: 0,
    result: { files: 4, same: 0, deleted: 0, skipped: ['link'], failed: [] },
  })
  expect(await contents(directory)).toEqual({ ...(await contents(local)), 'extra/file': 'x', 'deep/old': 'y' })
  expect((await stat(join(directory, 'deep/er/c'))).mtimeMs).toBe(1_700_000_000_500)

  await writeFile(join(local, 'deep/er/c'), 'other')
  expect(await sync([local, '--to', '--delete', '--dry-run'])).toMatchObject({
    result: {
      files: 1,
      same: 3,
      deleted: 2,
      actions: expect.arrayContaining([
        { action: 'send', path: 'deep/er/c' },
        { action: 'delete', path: 'deep/old' },
        { action: 'delete', path: 'extra' },
      ]) as unknown,
    },
  })
  expect(await readFile(join(directory, 'deep/er/c'), 'utf8')).toBe('three')
  expect(await sync([local, '--to', '--delete'])).toMatchObject({ code: 0, result: { files: 1, same: 3, deleted: 2 } })
  expect(await contents(directory)).toEqual(await contents(local))
  expect(await sync([local, '--to', '--delete'])).toMatchObject({ result: { files: 0, same: 4, deleted: 0 } })
})

test('berth folder sync --from brings a directory of a folder to this computer', async () => {
  await tree(directory, {
    'in/a': 'one',
    'in/deep/b': 'two',
    'in/none': null,
    'in/large.bin': randomBytes(3 * MiB),
    other: 'x',
  })
  await symlink('/etc/passwd', join(directory, 'in/link'))
  await tree(local, { stays: 'here' })
  const target = join(local, 'set')
  expect(await sync([target, 'in', '--from'])).toMatchObject({ code: 0, result: { files: 3, skipped: ['link'] } })
  expect(await contents(target)).toEqual({ ...(await contents(join(directory, 'in'))) })
  expect((await stat(join(target, 'deep/b'))).mtimeMs).toBe(1_700_000_000_500)
  expect(await sync([target, 'in', '--from'])).toMatchObject({ result: { files: 0, same: 3 } })

  await tree(target, { 'more/x': 'x', link: 'stays: the folder has a link of this name' })
  expect(await sync([target, 'in', '--from', '--delete'])).toMatchObject({ code: 0, result: { files: 0, deleted: 1 } })
  expect((await readdir(target)).toSorted()).toEqual(['a', 'deep', 'large.bin', 'link', 'none'])
  expect(await readdir(local)).toContain('stays')
})

test.each([[[]], [['--checksum']]])(
  'a file that only became executable, or is so no more, is carried over both ways (%j)',
  async flags => {
    await tree(local, { 'run.sh': 'echo', plain: 'x' })
    await sync([local, '--to'])
    await chmod(join(local, 'run.sh'), 0o755)
    expect(await sync([local, '--to', '--dry-run', ...flags])).toMatchObject({
      result: { files: 1, actions: [{ action: 'send', path: 'run.sh' }] },
    })
    expect(await sync([local, '--to', ...flags])).toMatchObject({ code: 0, result: { files: 1, same: 1 } })
    const modeIn = async (top: string) => (await stat(join(top, 'run.sh'))).mode & 0o777
    expect(await modeIn(directory)).toBe(0o755)
    expect(await sync([local, '--to', ...flags])).toMatchObject({ result: { files: 0, same: 2 } })

    await chmod(join(directory, 'run.sh'), 0o644)
    expect(await sync([local, '--from', '--dry-run', ...flags])).toMatchObject({
      result: { files: 0, modes: 1, actions: [{ action: 'mode', path: 'run.sh' }] },
    })
    expect(await sync([local, '--from', ...flags])).toMatchObject({
      code: 0,
      result: { files: 0, bytes: 0, modes: 1, same: 1 },
    })
    expect(await modeIn(local)).toBe(0o644)
    await chmod(join(local, 'run.sh'), 0o600)
    await chmod(join(directory, 'run.sh'), 0o755)
    await sync([local, '--from', ...flags])
    // Users who may not read the file here may not run it either.
    expect(await modeIn(local)).toBe(0o700)
    await chmod(join(local, 'run.sh'), 0o644)
    await sync([local, '--to', ...flags])
    expect(await modeIn(directory)).toBe(0o644)
  },
)

test('--checksum compares bytes, whatever the times', async () => {
  await tree(local, { same: 'abc', touched: 'abc', changed: 'abd' })
  await tree(directory, { same: 'abc', touched: 'abc', changed: 'abc' })
  await utimes(join(directory, 'touched'), 1, 1)
  expect(await sync([local, '--to', '--checksum'])).toMatchObject({ code: 0, result: { files: 1, same: 2 } })
  expect(await readFile(join(directory, 'changed'), 'utf8')).toBe('abd')
  expect(await sync([local, '--from', '--checksum'])).toMatchObject({ code: 0, result: { files: 0, same: 3 } })
})

test('a file replaces a directory, and a directory a file, only with --delete', async () => {
  await tree(local, { one: 'file', 'two/file': 'x' })
  await tree(directory, { 'one/file': 'x', two: 'file' })
  const refused = await sync([local, '--to'])
  expect(refused).toMatchObject({
    code: 1,
    result: { failed: [{ code: 'file_kind_refused' }, { code: 'file_kind_refused' }] },
  })
  expect(await sync([local, '--to', '--delete'])).toMatchObject({ code: 0, result: { files: 2, deleted: 2 } })
  expect(await contents(directory)).toEqual({ one: 'file', 'two/file': 'x' })
})

test('a missing source deletes nothing, and a direction is required', async () => {
  await tree(directory, { keep: 'x' })
  await tree(local, { keep: 'x' })
  expect((await sync([join(local, 'none'), '--to', '--delete'])).code).toBe(2)
  expect((await sync([local, 'none', '--from', '--delete'])).code).toBe(4)
  expect((await sync([local])).code).toBe(2)
  expect((await sync([local, '--to', '--from'])).code).toBe(2)
  expect([await readdir(directory), await readdir(local)]).toEqual([['keep'], ['keep']])
})

test('a local link is never followed', async () => {
  const outside = join(local, 'outside')
  await tree(outside, { file: 'keep' })
  const target = join(local, 'target')
  await mkdir(target)
  await symlink(outside, join(target, 'sub'))
  await tree(directory, { 'sub/file': 'new' })
  expect((await sync([target, '--from'])).code).toBe(1)
  expect((await sync([target, '--from', '--delete'])).code).toBe(0)
  expect(await readFile(join(outside, 'file'), 'utf8')).toBe('keep')
  expect(await readFile(join(target, 'sub/file'), 'utf8')).toBe('new')
})

test('a sync continues through cut connections in both directions, with small files and large ones', async () => {
  const files = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`many/${i % 7}/${i}`, `${i}`.repeat(5_000)]))
  await tree(local, { ...files, 'large.bin': randomBytes(8 * MiB) })
  const host = new URL(manager.url).host
  await using up = await startCuttingProxy(manager.url, { cuts: 3, afterBytes: 2 * MiB, host })
  await using other = await createCli()
  await other.signIn(up.url)
  expect(await sync([local, '--to'], other)).toMatchObject({ code: 0, result: { files: 301 } })
  expect(up.cuts()).toBe(3)
  expect(await contents(directory)).toEqual(await contents(local))

  await using down = await startCuttingProxy(manager.url, { cuts: 3, afterBytes: 2 * MiB, of: 'down', host })
  await using third = await createCli()
  await third.signIn(down.url)
  const target = join(local, 'copy')
  expect(await sync([target, '--from'], third)).toMatchObject({ code: 0, result: { files: 301 } })
  expect(down.cuts()).toBe(3)
  await rm(target, { recursive: true })
})

test('berth folder sync --from has the files that links of the folder lead to; --to replaces the links', async () => {
  await tree(directory, { 'blobs/sha1': 'weights' })
  await mkdir(join(directory, 'snap'))
  await symlink('../blobs/sha1', join(directory, 'snap/model'))
  await symlink('blobs', join(directory, 'again'))
  const got = await sync(['--from', local])
  expect(got).toMatchObject({ code: 0, result: { files: 2, skipped: ['again'] } })
  expect(await contents(local)).toEqual({ 'blobs/sha1': 'weights', 'snap/model': 'weights' })
  expect((await sync(['--from', local])).result).toMatchObject({ files: 0, same: 2 })
  expect((await sync(['--to', local])).result).toMatchObject({ files: 1, same: 1 })
  expect((await stat(join(directory, 'blobs/sha1'))).ino).not.toBe((await stat(join(directory, 'snap/model'))).ino)
})
