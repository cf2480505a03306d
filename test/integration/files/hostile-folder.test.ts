import { createHash, randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, BUNDLE_CONTENT, type Folder, type FolderCloned } from '#manager/contract'
import {
  type Arena,
  expectUntouched,
  fillArena,
  INSIDE,
  OUTSIDE,
  startRefilling,
  startRestoring,
  startSwapping,
} from '../../fixtures/hostile-folder.ts'
import { testSet } from '../../../build/bootstrap/test-sets.ts'
import { copyEnded } from '../../fixtures/copies.ts'
import { removeTree } from '../../../manager/storage/remove-tree.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

/** Each race keeps two cores busy. */
const RACE_MS = testSet(process.env) === 'all' ? 3_000 : 1_000

/** A busy machine needs longer until some calls have met the real entries. */
const LONGEST_RACE_MS = 15_000

/** @returns whether a race that begins now is over */
function raceOf(hasMetEntries: () => boolean): () => boolean {
  const began = performance.now()
  return () => performance.now() - began > (hasMetEntries() ? RACE_MS : LONGEST_RACE_MS)
}

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

/** Sends requests below the folder. */
function senderTo({ folder }: FolderArena) {
  const at = `${manager.url}/api/v1/folders/${folder.id}`
  return async (method: string, path: string, headers: Record<string, string> = {}, body?: Buffer) => {
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
}

/** Paths whose text alone shows that they lead out of the folder, or name nothing in it. */
const LEAVING = ['..', '../secret', 'dir/../..', 'dir/../file', '/etc/passwd', './file', 'dir//f', 'dir/', 'file\0']

/** Calls below the folder, with the text of their answers; in an order in which each succeeds without swapping. */
function callsOf(arena: FolderArena) {
  const send = senderTo(arena)
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
    listLinked: () => send('GET', '/entries?path=inner'),
    getLinked: () => send('GET', '/entry?path=inner-file'),
    readLinked: () => send('GET', '/content?path=inner/f'),
    readLinkedFile: () => send('GET', '/content?path=inner-file'),
    archiveLinked: () => send('GET', '/archive?path=inner&path=inner-file&path='),
    readLinkedBundle: () => json('/bundles/read', { paths: ['inner/f', 'inner-file', 'inner/secret'] }),
    checksumsLinked: () => json('/checksums', { paths: ['inner/f', 'inner-file', 'inner/secret'] }),
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
  const clones: FolderCloned[] = []
  {
    await using _swapping = await startSwapping(arena)
    const send = senderTo(arena)
    const isOver = raceOf(() => done.size > 3)
    const run = async ([name, call]: [string, () => Promise<{ isDone: boolean; text: string }>]) => {
      while (!isOver()) {
        const { isDone, text } = await call()
        if (isDone) done.add(name)
        expect(text).not.toContain(OUTSIDE)
        expect(text).not.toContain(sha256(OUTSIDE))
      }
    }
    const cloning = async () => {
      for (let n = 0; n < 3; n++) {
        const body = { name: `clone-${n}-${randomUUID()}` }
        const begun = await owner.api.cloneFolder({ params: { id: folder.id }, body })
        clones.push(begun)
      }
    }
    // Paths outside the folder's entries are always refused, whatever is on the way.
    const leaving = async () => {
      while (!isOver()) {
        for (const path of LEAVING) {
          const query = `path=${encodeURIComponent(path)}`
          const write = { 'if-none-match': '*', 'content-type': 'application/octet-stream' }
          const answers = await Promise.all([
            send('GET', `/content?${query}`),
            send('GET', `/archive?${query}`),
            send('PUT', `/content?${query}`, write, Buffer.from(INSIDE)),
          ])
          for (const answer of answers) {
            expect([path, answer]).toMatchObject([
              path,
              { isDone: false, text: expect.stringMatching(/bad_request|path_invalid/) as string },
            ])
          }
        }
      }
    }
    await Promise.all([...calls.map(run), cloning(), leaving()])
  }
  // On a busy machine a clone continues as a task. Only check finished clones, because a draft may get its final name while it is listed.
  const made: Folder[] = []
  for (const begun of clones) {
    const isWhole = await copyEnded(owner.api, begun.folder, begun).then(
      () => true,
      (error: unknown) => {
        // A copy of something that changes constantly may be refused with a documented code.
        expect(error).toMatchObject({ code: expect.not.stringMatching('internal') as string })
        return false
      },
    )
    if (isWhole) made.push(begun.folder)
  }
  await expectUntouched(arena, [folder, ...made].map(directoryOf))
  // Some operations also reached the real entries during the race.
  expect(done.size).toBeGreaterThan(3)
})

test.each([
  ['plain names', { directory: 'dir', file: 'file' }],
  [
    'names of 255 bytes, and of bytes that are no text',
    { directory: '한'.repeat(85), file: '\u202e\n -rf\uefff\ueffe' },
  ],
])(
  'what a session exchanges for links while it is deleted, moved and copied to another folder leads nowhere else: %s',
  async (_what, names) => {
    const arena = await makeArena()
    const other = await owner.api.createFolder({ body: { name: `other-${randomUUID()}` } })
    const [params, to] = [{ id: arena.folder.id }, { id: other.id }]
    const both = [names.directory, names.file]
    const done = new Set<string>()
    const calls = {
      remove: () => owner.api.deleteFiles({ params, body: { paths: both } }),
      removeBelow: () => owner.api.deleteFiles({ params, body: { paths: [`${names.directory}/f`] } }),
      copyOver: () =>
        owner.api.importFiles({
          params: to,
          body: { from: params.id, paths: both, to: '', onConflict: 'replace' },
        }),
      copyBeside: () =>
        owner.api.importFiles({
          params: to,
          body: { from: params.id, paths: [names.directory], to: '', onConflict: 'rename' },
        }),
      moveOver: () =>
        owner.api.importFiles({
          params: to,
          body: { from: params.id, mode: 'move', paths: both, to: '', onConflict: 'replace' },
        }),
      makeBelow: () => owner.api.makeDirectory({ params, body: { path: `${names.directory}/made`, parents: true } }),
      copyInto: () =>
        owner.api.importFiles({
          params,
          body: { from: to.id, paths: [names.directory], to: names.directory, onConflict: 'rename' },
        }),
    }
    {
      await using _restoring = await startRestoring(arena, names)
      const isOver = raceOf(() => done.size > 2)
      const run = async ([name, call]: [string, () => Promise<unknown>]) => {
        while (!isOver()) {
          await call().then(
            () => done.add(name),
            (error: unknown) => expect(error).toMatchObject({ code: expect.not.stringMatching('internal') as string }),
          )
        }
      }
      await Promise.all(Object.entries(calls).map(run))
    }
    // A failed copy leaves no draft. On a busy machine the last copies continue as tasks after their answer.
    const drafts = async () => (await readdir(directoryOf(other))).filter(name => name.startsWith('.berth'))
    await expect.poll(drafts).toEqual([])
    await expectUntouched(arena, [arena.directory, directoryOf(other)])
    // Some operations reached the real entries. A move of something that changes constantly is mostly refused.
    expect(done.size).toBeGreaterThan(2)
  },
)

test('a folder is thrown away and its files are removed while a session exchanges them for links: nothing of the host is', async () => {
  const arena = await makeArena()
  const params = { id: arena.folder.id }
  {
    await using _restoring = await startRestoring(arena, { directory: 'dir', file: 'file' })
    await owner.api.trashFolder({ params })
    await owner.api.restoreFolder({ params })
    await owner.api.trashFolder({ params })
    await owner.api.deleteFolder({ params })
    await expect.poll(async () => (await owner.api.listFolders()).items.map(({ id }) => id)).not.toContain(params.id)
  }
  // Repeats the removal that cannot finish.
  const again = { directory: join(manager.dataDir, randomUUID()), outside: arena.outside }
  {
    await using _refilling = await startRefilling(again)
    const ends = performance.now() + RACE_MS
    while (performance.now() < ends) await removeTree(again.directory).catch(() => undefined)
  }
  await removeTree(again.directory)
  await expectUntouched(arena, [])
})
