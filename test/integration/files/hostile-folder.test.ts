import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, BUNDLE_CONTENT, type Folder } from '#manager/contract'
import {
  type Arena,
  expectUntouched,
  fillArena,
  INSIDE,
  OUTSIDE,
  startSwapping,
} from '../../fixtures/hostile-folder.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

const RACE_MS = 3_000

let manager: TestManager
let owner: { token: string; api: ApiClient }

beforeAll(async () => {
  manager = await startTestManager()
  owner = await manager.addUser('owner@example.org')
})
afterAll(() => manager[Symbol.asyncDispose]())

const directoryOf = ({ id }: Pick<Folder, 'id'>) => join(manager.dataDir, 'storage', 'folders', id)

interface FolderArena extends Arena {
  readonly folder: Folder
}

async function makeArena(): Promise<FolderArena> {
  const folder = await owner.api.createFolder({ body: { name: `data-${randomUUID()}` } })
  const arena = { folder, directory: directoryOf(folder), outside: join(manager.dataDir, folder.name) }
  await fillArena(arena)
  return arena
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

function frame(header: object, text: string): Buffer {
  const head = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length)
  return Buffer.concat([length, head, Buffer.from(text)])
}

/** Calls below the folder, with the text of their answers; in an order in which each succeeds while nobody swaps. */
function callsOf({ folder }: FolderArena) {
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
  const { folder } = arena
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
  await expectUntouched(arena, [folder, ...clones].map(directoryOf))
  // Some operations have met the real entries during the race too.
  expect(done.size).toBeGreaterThan(3)
}, 60_000)
