import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chown, link, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, BUNDLE_CONTENT, type Folder } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

const isRoot = process.getuid?.() === 0
/** User of sessions: hard links to files of root are then told apart. */
const SESSION_UID = 12_345
const INSIDE = 'of the folder'
const OUTSIDE = 'of the host'
const RACE_MS = 3_000

let manager: TestManager
let owner: { token: string; api: ApiClient }

beforeAll(async () => {
  manager = await startTestManager()
  owner = await manager.addUser('owner@example.org')
})
afterAll(() => manager[Symbol.asyncDispose]())

const directoryOf = ({ id }: Pick<Folder, 'id'>) => join(manager.dataDir, 'storage', 'folders', id)

interface Arena {
  readonly folder: Folder
  /** Its files. */
  readonly directory: string
  /** A directory of the host that nobody may reach. */
  readonly outside: string
}

async function makeArena(): Promise<Arena> {
  const folder = await owner.api.createFolder({ body: { name: `data-${randomUUID()}` } })
  const directory = directoryOf(folder)
  const outside = join(manager.dataDir, folder.name)
  await mkdir(outside)
  for (const name of ['secret', 'f']) await writeFile(join(outside, name), OUTSIDE)
  await mkdir(join(directory, 'copies'))
  await mkdir(join(directory, 'dir'))
  for (const name of ['dir/f', 'file']) await writeFile(join(directory, name), INSIDE)
  if (isRoot)
    for (const name of ['.', 'dir', 'dir/f', 'file', 'copies'])
      await chown(join(directory, name), SESSION_UID, SESSION_UID)
  // A session cannot make such a link itself; somebody who writes to the storage from elsewhere can.
  await link(join(outside, 'secret'), join(directory, 'hard'))
  return { folder, directory, outside }
}

/**
 * A program of a session that exchanges a directory and a file for links to outside, pipes and hard links, as fast as it can. Each name exists at
 * any time, so no operation can take one.
 */
async function startSwapping({ directory, outside }: Arena): Promise<AsyncDisposable> {
  const script = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
out = '${outside}'
os.symlink(out, 'dir-link'); os.symlink(out + '/secret', 'file-link')
os.mkfifo('pipe'); os.link('hard', 'hard-too')
print('ready', flush=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2
def swap(a, b):
    if libc.renameat2(AT_FDCWD, a.encode(), AT_FDCWD, b.encode(), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), a + ' ' + b)
while True:
    for a, b in (('dir', 'dir-link'), ('file', 'file-link'), ('file', 'pipe'), ('file', 'hard-too'), ('dir', 'file')):
        swap(a, b)
        swap(a, b)
`
  const child = spawn('python3', ['-c', script], { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return {
    async [Symbol.asyncDispose]() {
      expect(child.exitCode, 'exchanges until the end').toBeNull()
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

function frame(header: object, text: string): Buffer {
  const head = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length)
  return Buffer.concat([length, head, Buffer.from(text)])
}

/** Calls below the folder, with the text of their answers; in an order in which each succeeds while nobody swaps. */
function callsOf({ folder }: Arena) {
  const at = `${manager.url}/api/v1/folders/${folder.id}`
  const send = async (method: string, path: string, headers: Record<string, string> = {}, body?: Buffer) => {
    const authorization = `Bearer ${owner.token}`
    try {
      const reply = await fetch(at + path, {
        method,
        headers: { authorization, ...headers },
        body: body ? new Uint8Array(body) : null,
      })
      return { isDone: reply.ok, text: Buffer.from(await reply.arrayBuffer()).toString('latin1') }
    } catch {
      return { isDone: false, text: '' } // cut, because a file changed while it was sent
    }
  }
  const json = (path: string, value: unknown) =>
    send('POST', path, { 'content-type': 'application/json' }, Buffer.from(JSON.stringify(value)))
  const metadata = (path: string) =>
    `path ${Buffer.from(path).toString('base64')},onConflict ${Buffer.from('replace').toString('base64')}`
  const bundled = (path: string) =>
    frame({ path, size: INSIDE.length, sha256: sha256(INSIDE), onConflict: 'replace' }, INSIDE)
  return {
    list: () => send('GET', '/entries?path=dir'),
    get: () => send('GET', '/entry?path=dir/f'),
    search: () => send('GET', '/search?path=&text=f'),
    read: () => send('GET', '/content?path=file'),
    readBelow: () => send('GET', '/content?path=dir/f'),
    archive: () => send('GET', '/archive?path=dir&path=file'),
    readBundle: () => json('/bundles/read', { paths: ['dir/f', 'file', 'dir', 'hard'] }),
    checksums: () => json('/checksums', { paths: ['dir/f', 'file', 'hard'] }),
    writeNew: () =>
      send(
        'PUT',
        '/content?path=dir/w',
        { 'if-none-match': '*', 'content-type': 'application/octet-stream' },
        Buffer.from(INSIDE),
      ),
    write: () =>
      send(
        'PUT',
        '/content?path=dir/w',
        { 'if-match': '*', 'content-type': 'application/octet-stream' },
        Buffer.from(INSIDE),
      ),
    upload: () =>
      send(
        'POST',
        '/uploads',
        {
          'tus-resumable': '1.0.0',
          'upload-length': String(INSIDE.length),
          'upload-metadata': metadata('dir/u'),
          'content-type': 'application/offset+octet-stream',
        },
        Buffer.from(INSIDE),
      ),
    bundle: () => send('POST', '/bundles', { 'content-type': BUNDLE_CONTENT }, bundled('dir/b/b')),
    makeDirectory: () => json('/directories', { path: 'dir/made/deep', parents: true }),
    copy: () => json('/copies', { paths: ['dir', 'file'], to: 'copies', onConflict: 'rename' }),
    move: () => json('/moves', { paths: ['dir/u'], to: 'dir/made', onConflict: 'replace' }),
    remove: () => json('/deletions', { paths: ['dir/made'] }),
  }
}

test('whatever a session exchanges while an operation runs, nothing of the host is read, changed or copied', async () => {
  const arena = await makeArena()
  const { folder, outside } = arena
  const calls = Object.entries(callsOf(arena))
  for (const [name, call] of calls) expect([name, await call()]).toMatchObject([name, { isDone: true }])
  const done = new Set<string>()
  const clones: Folder[] = []
  {
    await using _swapping = await startSwapping(arena)
    const ends = performance.now() + RACE_MS
    const run = async ([name, call]: [string, () => Promise<{ isDone: boolean; text: string }>]) => {
      while (performance.now() < ends) {
        const { isDone, text } = await call()
        if (isDone) done.add(name)
        expect(text).not.toContain(OUTSIDE)
        expect(text).not.toContain(sha256(OUTSIDE))
      }
    }
    const cloning = async () => {
      for (let n = 0; n < 3; n++) {
        const body = { name: `clone-${n}-${randomUUID()}` }
        const { folder: made } = await owner.api.cloneFolder({ params: { id: folder.id }, body })
        clones.push(made)
      }
    }
    await Promise.all([...calls.map(run), cloning()])
  }
  expect((await readdir(outside)).toSorted()).toEqual(['f', 'secret'])
  expect(await readFile(join(outside, 'secret'), 'utf8')).toBe(OUTSIDE)
  expect(await readFile(join(outside, 'f'), 'utf8')).toBe(OUTSIDE)
  for (const one of [folder, ...clones])
    expect(await textsOf(directoryOf(one), join(outside, 'secret'))).not.toContain(OUTSIDE)
  // Some operations have met the real entries during the race too.
  expect(done.size).toBeGreaterThan(3)
}, 60_000)

/**
 * Texts of all regular files of a tree.
 *
 * @param linked a file whose other names are left out: hard links that the test made, under any name after the exchanges
 */
async function textsOf(top: string, linked: string): Promise<string[]> {
  const { ino } = await stat(linked)
  const entries = await readdir(top, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const texts = await Promise.all(
    paths.map(async path => ((await stat(path)).ino === ino ? [] : [await readFile(path, 'utf8')])),
  )
  return texts.flat()
}
