import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { type Directory, openTop } from './beneath.ts'
import { createStorageCalls, type StorageCalls } from './calls.ts'
import { nameOf } from './file-names.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0
/** Owner of a folder that a session has used. */
const SESSIONS = 60_999

const calls = createStorageCalls({ threads: 16 })('local')
// Started before descriptors are counted, because a thread has some of its own.
beforeAll(async () => {
  await calls.batch(thread => thread.run('states', { directory: 0, names: [] }))
  await calls.path(threads => threads.run('states', { directory: 0, names: [] }))
})

let base: string
let inside: string
let outside: string
let top: Directory
let descriptors: number
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-test-beneath-'))
  inside = join(base, 'folder')
  outside = join(base, 'outside')
  await mkdir(inside)
  await mkdir(outside)
  await writeFile(join(outside, 'secret'), 'of the host')
  if (isRoot) await chown(inside, SESSIONS, SESSIONS)
  descriptors = await countDescriptors()
  top = await openTop(inside, calls)
})
afterEach(async () => {
  await top[Symbol.asyncDispose]()
  await expect.poll(countDescriptors).toBeLessThanOrEqual(descriptors)
  await rm(base, { recursive: true, force: true })
})

const countDescriptors = async () => (await readdir('/proc/self/fd')).length
const refused = (code: string): unknown => expect.objectContaining({ code })
async function read(directory: Directory, name: string): Promise<string> {
  await using file = await directory.open(name)
  const bytes = Buffer.alloc(100)
  return bytes.toString('utf8', 0, await file.read(bytes, 0))
}
async function namesIn(directory: Directory): Promise<string[]> {
  await using listing = await directory.list()
  const names: string[] = []
  for (let batch = await listing.next(); batch.length > 0; batch = await listing.next())
    names.push(...batch.map(({ name }) => name))
  return names.toSorted()
}

describe('a directory of a folder', () => {
  test('entries are made, read, moved and removed, and belong to the owner of the folder', async () => {
    await top.mkdir('data')
    await using data = await top.walk('data')
    {
      await using file = await data.create('notes')
      await file.write(Buffer.from('one two'), 0)
      await file.write(Buffer.from('TWO'), 4)
      await file.close()
    }
    expect(await read(data, 'notes')).toBe('one TWO')
    const found = await stat(join(inside, 'data/notes'))
    expect([found.uid, found.mode & 0o7777]).toEqual([isRoot ? SESSIONS : process.getuid?.(), 0o644])
    expect((await stat(join(inside, 'data'))).uid).toBe(found.uid)
    await expect(data.create('notes')).rejects.toEqual(refused('file_exists'))
    await expect(top.mkdir('data')).rejects.toEqual(refused('file_exists'))
    await expect(top.rmdir('data')).rejects.toEqual(refused('directory_not_empty'))

    await data.renameNew('notes', top, 'moved')
    await top.rmdir('data')
    expect(await namesIn(top)).toEqual(['moved'])
    expect(await top.lstat('moved')).toMatchObject({ kind: 'file', size: 7, links: 1 })
    await top.unlink('moved')
    await expect(top.lstat('moved')).rejects.toEqual(refused('file_not_found'))
  })

  test.runIf(isRoot)('new entries belong to root while no session has used the folder', async () => {
    await chown(inside, 0, 0)
    await top.mkdir('early')
    expect((await stat(join(inside, 'early'))).uid).toBe(0)
    await chown(inside, SESSIONS, SESSIONS)
    await using early = await top.enter('early')
    await using file = await early.create('late')
    await file.close()
    expect((await stat(join(inside, 'early/late'))).uid).toBe(SESSIONS)
  })

  test.each(['', '.', '..', '/etc/passwd', 'a/b', '../outside', 'a\0b', 'x'.repeat(256)])(
    'the name %j is refused, because it leads elsewhere',
    async name => {
      const calls = [
        () => top.lstat(name),
        () => top.enter(name),
        () => top.open(name),
        () => top.create(name),
        () => top.mkdir(name),
        () => top.unlink(name),
        () => top.rmdir(name),
        () => top.readlink(name),
        () => top.symlink(name, Buffer.from('x')),
        () => top.rename(name, top, 'y'),
        () => top.renameNew('y', top, name),
        () => top.link('y', top, name),
      ]
      await writeFile(join(inside, 'y'), '')
      for (const call of calls) await expect(call()).rejects.toEqual(refused('path_invalid'))
      expect(await namesIn(top)).toEqual(['y'])
    },
  )

  test('names are kept byte for byte: 255 bytes, line breaks, other encodings', async () => {
    const names = ['한'.repeat(85), 'line\nbreak', '-rf', ' ', '\u202eexe.txt', nameOf(Buffer.from([0xff, 0x41, 0xc3]))]
    for (const name of names) await (await top.create(name)).close()
    expect(await namesIn(top)).toEqual(names.toSorted())
    const raw = await readdir(inside, { encoding: 'buffer' })
    expect(raw.some(name => name.equals(Buffer.from([0xff, 0x41, 0xc3])))).toBe(true)
    for (const name of names) await top.unlink(name)
    expect(await readdir(inside)).toEqual([])
  })

  test('a move without replacement replaces nothing, also not a directory', async () => {
    for (const name of ['a', 'b']) await (await top.create(name)).close()
    await expect(top.renameNew('a', top, 'b')).rejects.toEqual(refused('file_exists'))
    for (const name of ['one', 'two', 'three']) await top.mkdir(name)
    await writeFile(join(inside, 'one/kept'), '')
    await expect(top.renameNew('one', top, 'two')).rejects.toEqual(refused('file_exists'))
    await expect(top.renameNew('one', top, 'b')).rejects.toEqual(refused('file_exists'))
    await top.renameNew('one', top, 'four')
    {
      await using four = await top.walk('four')
      await expect(top.renameNew('four', four, 'itself')).rejects.toEqual(refused('file_kind_refused'))
      expect(await namesIn(four)).toEqual(['kept'])
    }
    await symlink(outside, join(inside, 'link'))
    await top.renameNew('link', top, 'renamed')
    expect(await namesIn(top)).toEqual(['a', 'b', 'four', 'renamed', 'three', 'two'])
  })

  test('a closed directory is not used any more, and closing waits for calls in flight', async () => {
    await top.mkdir('data')
    const data = await top.enter('data')
    const making = data.mkdir('x')
    const closing = data[Symbol.asyncDispose]()
    await Promise.allSettled([making, closing])
    await expect(data.lstat('x')).rejects.toThrow('closed')
  })

  test('a directory that is opened again too late is closed only after that, so that its number names no other file', async () => {
    const order: string[] = []
    let isSlow = false
    const slow: StorageCalls = {
      ...calls,
      run(call, options = {}) {
        if (!isSlow) return calls.run(call, options)
        void call().then(result => {
          order.push('opened')
          options.late?.(result)
        })
        return Promise.reject(new AppError('storage_away'))
      },
      async close(call) {
        // After all consequences of the system's answer, and before the next answer.
        await new Promise<void>(resolve => process.nextTick(resolve))
        order.push('closed')
        await calls.close(call)
      },
    }
    const directory = await openTop(inside, slow)
    isSlow = true
    await expect(directory.walk('')).rejects.toEqual(refused('storage_away'))
    await directory[Symbol.asyncDispose]()
    expect(order).toEqual(['opened', 'closed'])
  })

  test.each<[string, (directory: Directory) => Promise<unknown>]>([
    ['opened again', directory => directory.walk('')],
    ['looked at', directory => directory.state()],
    ['listed', directory => directory.list()],
  ])('a share that was mounted anew is said to be away when its directory is %s', async (_what, act) => {
    const share = mountedAnewAfter(1)
    await using directory = await openTop(inside, share)
    await expect(act(directory)).rejects.toEqual(refused('storage_away'))
  })

  test('a share that was mounted anew is said to be away when its listing is read on', async () => {
    await using directory = await openTop(inside, mountedAnewAfter(2))
    await using listing = await directory.list()
    await expect(listing.next()).rejects.toEqual(refused('storage_away'))
  })

  /** Calls to a share whose server forgets all open files after so many calls. */
  function mountedAnewAfter(count: number): StorageCalls {
    let left = count
    return {
      ...calls,
      run(call, options) {
        if (left-- > 0) return calls.run(call, options)
        return Promise.reject(Object.assign(new Error('ESTALE'), { code: 'ESTALE', syscall: 'open' }))
      },
    }
  }
})

describe('jobs on many entries of a folder', () => {
  test('many files are made, moved, looked at and read together, with the owner of the folder', async () => {
    const sha256 = (bytes: string) => createHash('sha256').update(bytes).digest('hex')
    const file = (name: string, bytes: string, more: { sha256?: string } = {}) => ({
      name,
      bytes: Buffer.from(bytes),
      sha256: sha256(bytes),
      owner: isRoot ? { uid: SESSIONS, gid: SESSIONS } : undefined,
      modifiedAt: new Date('2024-05-06T07:08:09Z'),
      mode: 0o644,
      ...more,
    })
    const raw = nameOf(Buffer.from([0x66, 0xff, 0x6f]))
    expect(
      await top.createMany([
        file('a', 'one'),
        file('a', 'again'),
        file('d', 'x', { sha256: sha256('y') }),
        file(raw, ''),
      ]),
    ).toEqual([true, false, 'damaged', true])
    const found = await stat(join(inside, 'a'))
    expect([found.uid, found.mode & 0o7777, found.mtime.toISOString()]).toEqual([
      isRoot ? SESSIONS : process.getuid?.(),
      0o644,
      '2024-05-06T07:08:09.000Z',
    ])
    await top.mkdir('to')
    await using to = await top.walk('to')
    await mkdir(join(inside, 'to/taken'))
    const moves = [
      { name: 'a', toName: 'taken', replace: true },
      { name: 'a', toName: 'moved', replace: false },
      { name: raw, toName: 'moved', replace: false },
      { name: 'none', toName: 'other', replace: true },
    ]
    expect(await top.moveMany(moves, to)).toEqual([false, true, false, false])
    expect(await namesIn(to)).toEqual(['moved', 'taken'])
    expect((await to.lstatMany(['moved', 'none', 'taken'])).map(state => state?.kind)).toEqual([
      'file',
      undefined,
      'directory',
    ])
    const limits = { largest: 3, most: 100 }
    const text = (one: { bytes: Uint8Array } | undefined) => one && Buffer.from(one.bytes).toString()
    expect((await to.readMany(['moved', 'taken'], limits)).map(text)).toEqual(['one', undefined])
    expect((await to.readMany(['moved', 'moved'], { ...limits, most: 1 })).map(text)).toEqual(['one'])
    expect((await to.readMany(['moved'], { ...limits, largest: 2 })).map(text)).toEqual([undefined])
  })

  test('work on many files follows no link and opens no pipe, device or file with a name outside', async () => {
    await symlink(outside, join(inside, 'to-outside'))
    await symlink(join(outside, 'secret'), join(inside, 'to-secret'))
    await run('mkfifo', [join(inside, 'pipe')])
    await writeFile(join(inside, 'own'), 'own')
    const names = ['to-outside', 'to-secret', 'pipe', 'own']
    if (isRoot) {
      await chown(join(inside, 'own'), SESSIONS, SESSIONS)
      await link(join(outside, 'secret'), join(inside, 'hard-link'))
      names.push('hard-link')
    }
    const limits = { largest: 100, most: 1000 }
    const found = await top.readMany(names, limits)
    expect(found.map(one => one && Buffer.from(one.bytes).toString())).toEqual(
      names.map(name => (name === 'own' ? 'own' : undefined)),
    )
    const bytes = Buffer.from('x')
    const file = {
      bytes,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      owner: undefined,
      modifiedAt: null,
      mode: 0o644,
    }
    expect(await top.createMany([{ ...file, name: 'to-secret' }])).toEqual([false])
    await expect(top.createMany([{ ...file, name: '../secret' }])).rejects.toEqual(refused('path_invalid'))
    await top.moveMany([{ name: 'own', toName: 'to-secret', replace: true }], top)
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('of the host')
    expect(await readFile(join(inside, 'to-secret'), 'utf8')).toBe('own')
  })

  test('the entry of a path is looked at, opened and made by one job, with the owner of the folder', async () => {
    await mkdir(join(inside, 'a/b'), { recursive: true })
    const raw = nameOf(Buffer.from([0x61, 0xff]))
    const make = { mode: 0o640, isOnly: false }
    const made = await top.openAt(`a/b/${raw}`, { access: 'write', make })
    await using file = made?.file
    expect(made).toMatchObject({ isNew: true, state: { kind: 'file', size: 0, mode: 0o640 } })
    expect(made?.state.uid).toBe(isRoot ? SESSIONS : process.getuid?.())
    await file?.writeParts([Buffer.from('one'), Buffer.from(' two')], 0)
    await file?.setTimes(new Date(0), new Date(5_000))
    await file?.truncate(5)
    await file?.sync()
    await file?.close()
    expect(await top.stateAt(`a/b/${raw}`)).toMatchObject({ kind: 'file', size: 5, inode: made?.state.inode })
    expect((await top.stateAt('a/b'))?.kind).toBe('directory')

    // From a directory in the folder as well; a file that is there is opened, unless only a new one will do.
    await using a = await top.enter('a')
    await using again = (await a.openAt(`b/${raw}`, { access: 'read', make }))?.file
    const bytes = Buffer.alloc(10)
    expect(bytes.toString('utf8', 0, await again?.readParts([bytes], 0))).toBe('one t')
    expect((await again?.state())?.size).toBe(5)
    await expect(again?.write(bytes, 0)).rejects.toThrow()
    expect(await a.openAt(`b/${raw}`, { access: 'write', make: { ...make, isOnly: true } })).toBeUndefined()
    for (const find of [() => top.stateAt('a/none'), () => top.openAt('a/none', { access: 'read' })])
      await expect(find()).rejects.toEqual(refused('file_not_found'))
  })

  test('one job for a path follows no link and opens no directory, pipe or file with a name outside', async () => {
    await mkdir(join(inside, 'a'))
    await symlink(outside, join(inside, 'a/to-outside'))
    await symlink(join(outside, 'secret'), join(inside, 'a/to-secret'))
    await symlink(join(outside, 'new'), join(inside, 'a/to-new'))
    await run('mkfifo', [join(inside, 'a/pipe')])
    const paths = ['a', 'a/to-secret', 'a/to-new', 'a/to-outside/secret', 'a/to-outside/new', 'a/pipe', 'none/new', '']
    if (isRoot) {
      await chown(inside, SESSIONS, SESSIONS)
      await link(join(outside, 'secret'), join(inside, 'a/hard-link'))
      paths.push('a/hard-link')
    }
    const make = { mode: 0o644, isOnly: false }
    for (const path of paths) {
      expect(await top.openAt(path, { access: 'read' }), path).toBeUndefined()
      expect(await top.openAt(path, { access: 'write', make }), path).toBeUndefined()
    }
    expect((await top.stateAt('a/to-secret'))?.kind).toBe('link')
    for (const path of ['a/to-outside/secret', 'none/none', '']) expect(await top.stateAt(path), path).toBeUndefined()
    for (const path of ['../outside/secret', '/etc/passwd', 'a//b', 'a/../../outside/secret'])
      await expect(top.openAt(path, { access: 'read' }), path).rejects.toEqual(refused('path_invalid'))
    expect(await readdir(outside)).toEqual(['secret'])
  })
})

describe('links, pipes and devices in a folder', () => {
  test('no link is followed, at the end of a path or on the way', async () => {
    await symlink(outside, join(inside, 'way'))
    await symlink(join(outside, 'secret'), join(inside, 'end'))
    await symlink('/proc/self/root', join(inside, 'root'))
    await expect(top.walk('way')).rejects.toEqual(refused('file_kind_refused'))
    await expect(top.walk('root/etc')).rejects.toEqual(refused('file_kind_refused'))
    await expect(top.open('end')).rejects.toEqual(refused('file_kind_refused'))
    await expect(top.open('end', 'write')).rejects.toEqual(refused('file_kind_refused'))
    await expect(top.create('end')).rejects.toEqual(refused('file_exists'))
    await expect(top.mkdir('end')).rejects.toEqual(refused('file_exists'))
    expect(await top.lstat('end')).toMatchObject({ kind: 'link' })
    expect((await top.readlink('end')).toString()).toBe(join(outside, 'secret'))

    await (await top.create('new')).close()
    await top.rename('new', top, 'end')
    expect((await top.lstat('end')).kind).toBe('file')
    await top.unlink('way')
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('of the host')
    expect(await readdir(outside)).toEqual(['secret'])
  })

  test('a link is copied as a link, and belongs to the owner of the folder', async () => {
    await top.symlink('copy', Buffer.from('/etc/passwd'))
    expect(await readlink(join(inside, 'copy'))).toBe('/etc/passwd')
    expect((await lstat(join(inside, 'copy'))).uid).toBe(isRoot ? SESSIONS : process.getuid?.())
    expect((await stat('/etc/passwd')).uid).toBe(0)
  })

  test('pipes, sockets and devices are not opened, and nothing waits for them', async () => {
    await run('mkfifo', [join(inside, 'pipe')])
    await using server = createServer().listen(join(inside, 'socket'))
    await once(server, 'listening')
    const names = ['pipe', 'socket']
    if (isRoot) {
      await run('mknod', [join(inside, 'zero'), 'c', '1', '5'])
      names.push('zero')
    }
    for (const name of names) {
      expect((await top.lstat(name)).kind).toBe('other')
      await expect(top.open(name)).rejects.toEqual(refused('file_kind_refused'))
      await expect(top.open(name, 'write')).rejects.toEqual(refused('file_kind_refused'))
      await expect(top.enter(name)).rejects.toEqual(refused('file_kind_refused'))
    }
  })

  test.runIf(isRoot)('hard links are opened only if they belong to the owner of the folder', async () => {
    await link(join(outside, 'secret'), join(inside, 'foreign'))
    await expect(top.open('foreign')).rejects.toEqual(refused('file_kind_refused'))
    await expect(top.open('foreign', 'write')).rejects.toEqual(refused('file_kind_refused'))
    await (await top.create('own')).close()
    await top.link('own', top, 'second')
    expect(await read(top, 'second')).toBe('')
  })
})

describe('a session that swaps names in a loop', () => {
  /** A process that alternately puts a directory and a link to the outside under one name, as fast as it can. */
  async function swapping(script: string): Promise<AsyncDisposable> {
    const child = spawn('python3', ['-c', script], { cwd: inside, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    return {
      async [Symbol.asyncDispose]() {
        child.kill('SIGKILL')
        await once(child, 'exit')
      },
    }
  }
  const swap = (make: string) => `
import os
os.mkdir('real'); open('real/secret', 'w').write('of the folder'); ${make}
print('ready', flush=True)
while True:
    os.rename('real', 'kept'); os.rename('link', 'real')
    os.rename('real', 'link'); os.rename('kept', 'real')
`
  const ROUNDS = 1_500

  test('a swapped directory leads no reading or writing out of the folder', async () => {
    await using _ = await swapping(swap(`os.symlink('${outside}', 'link')`))
    const results = new Map<string, number>()
    const count = (result: string) => results.set(result, (results.get(result) ?? 0) + 1)
    for (let round = 0; round < ROUNDS; round++) {
      try {
        await using real = await top.walk('real')
        count(await read(real, 'secret'))
        await (await real.create('made')).close()
        await real.unlink('made')
        await real.mkdir('dir')
        await real.rmdir('dir')
      } catch (error) {
        count((error as { code: string }).code)
      }
    }
    expect(results.get('of the folder')).toBeGreaterThan(0)
    expect(results.has('of the host')).toBe(false)
    expect(await readdir(outside)).toEqual(['secret'])
  })

  test('a swapped file leads no reading out of the folder', async () => {
    const script = swap(
      `os.rename('real/secret', 'f'); os.rmdir('real'); os.rename('f', 'real'); os.symlink('${outside}/secret', 'link')`,
    )
    await using _ = await swapping(script)
    const texts = new Set<string>()
    for (let round = 0; round < ROUNDS; round++) {
      texts.add(await read(top, 'real').catch((error: unknown) => (error as { code: string }).code))
      await top
        .open('real', 'write')
        .then(async file => {
          await using open = file
          await open.write(Buffer.from('X'), 50)
        })
        .catch(() => undefined)
    }
    expect([...texts].some(text => text.startsWith('of the folder'))).toBe(true)
    expect([...texts].some(text => text.startsWith('of the host'))).toBe(false)
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('of the host')
  })
})
