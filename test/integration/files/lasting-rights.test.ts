import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient, BUNDLE_CONTENT, type Folder, type GroupId, TUS_CONTENT, type UserId } from '#manager/contract'
import { casesOf } from '../../../build/bootstrap/test-sets.ts'
import { type HeldRequest, heldRequest } from '../../fixtures/held-request.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { type SlowReader, slowReader } from '../../fixtures/slow-reader.ts'

/** Long requests for files while the right to them ends: bodies that arrive slowly, and answers that are read slowly. */

const MIB = 2 ** 20
/** More than the buffers of a connection can hold. */
const LARGE = 64 * MIB

let manager: TestManager
let admin: ApiClient
let owner: ApiClient
let folder: Folder
let directory: string
beforeAll(async () => {
  manager = await startTestManager({ timings: { recheckMs: 100 } })
  admin = (await manager.signIn()).api
  owner = (await manager.addUser('owner@example.org')).api
  folder = await owner.createFolder({ body: { name: 'data' } })
  directory = join(manager.dataDir, 'storage', 'folders', folder.id)
  await writeFile(join(directory, 'large.bin'), randomBytes(LARGE))
  await mkdir(join(directory, 'many'))
  const piece = randomBytes(256 * 1024)
  for (let index = 0; index < LARGE / piece.length; index++)
    await writeFile(join(directory, 'many', `file-${index}.bin`), piece)
})
afterAll(() => manager[Symbol.asyncDispose]())

interface Guest {
  readonly id: UserId
  readonly token: string
  readonly api: ApiClient
}

let count = 0
let guest: Guest
beforeEach(async () => {
  const email = `guest${++count}@example.org`
  const made = await manager.addUser(email)
  guest = { ...made, id: made.id as UserId }
  await owner.inviteToFolder({ params: { id: folder.id }, body: { email, permission: 'delete' } })
  const [invitation] = (await guest.api.listFolderInvitations()).items
  if (!invitation) throw new Error('no invitation')
  await guest.api.acceptFolderInvitation({ params: { id: invitation.id } })
})

type End = readonly [what: string, end: () => Promise<unknown>]
const ENDS: readonly End[] = [
  [
    'the right to the folder is withdrawn',
    () => owner.deleteFolderMember({ params: { id: folder.id, userId: guest.id } }),
  ],
  ['the account is deactivated', () => admin.updateUser({ params: { id: guest.id }, body: { active: false } })],
  ['the person signs out', () => guest.api.logout()],
]

/** `npm test` tries one end with each route, by turns: every route looks again in the same way, and every end is tried with reads and writes. */
const endsOf = (turn: number) =>
  casesOf([...ENDS.slice(turn % ENDS.length), ...ENDS.slice(0, turn % ENDS.length)], ENDS.length)

const at = (path: string) => `${manager.url}/api/v1/folders/${folder.id}/${path}`
const authorization = () => ({ authorization: `Bearer ${guest.token}` })

function frame(path: string, bytes: string): string {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const text = JSON.stringify({ path, size: bytes.length, sha256 })
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return `${length.toString('latin1')}${text}${bytes}`
}

interface Writing {
  readonly body: string
  readonly hold: (length: number) => Promise<HeldRequest> | HeldRequest
}

/** Routes by which a body becomes a file. */
const WRITES: Readonly<Record<string, (name: string) => Writing>> = {
  'a file that is replaced whole': name => ({
    body: 'written too late',
    hold: length =>
      heldRequest(at(`content?path=${name}`), {
        method: 'PUT',
        headers: { ...authorization(), 'content-type': 'application/octet-stream', 'if-none-match': '*' },
        length,
      }),
  }),
  'an upload that begins with bytes': name => ({
    body: 'written too late',
    hold: length =>
      heldRequest(at('uploads'), {
        method: 'POST',
        headers: {
          ...authorization(),
          'content-type': TUS_CONTENT,
          'tus-resumable': '1.0.0',
          'upload-length': String(length),
          'upload-metadata': `path ${Buffer.from(name).toString('base64')}`,
        },
        length,
      }),
  }),
  'a bundle': name => ({
    body: frame(name, 'written too late'),
    hold: length =>
      heldRequest(at('bundles'), {
        method: 'POST',
        headers: { ...authorization(), 'content-type': BUNDLE_CONTENT },
        length,
      }),
  }),
}

describe.each(Object.entries(WRITES).map((entry, turn) => [...entry, turn] as const))('%s', (_route, writing, turn) => {
  test('is written while its sender may write, however slowly it arrives', async () => {
    const name = `in-time-${++count}`
    const { body, hold } = writing(name)
    using request = await hold(body.length)
    await request.begun
    for (const byte of body) {
      request.send(byte)
      await delay(10)
    }
    expect((await request.answer).status).toBeLessThan(300)
    expect(await readdir(directory)).toContain(name)
  })

  test.each(endsOf(turn))('is not written after %s', async (_what, end) => {
    const name = `late-${++count}`
    const { body, hold } = writing(name)
    using request = await hold(body.length)
    await request.begun
    request.send(body.slice(0, -1))
    await end()
    request.send(body.slice(-1))
    expect([0, 401, 404]).toContain((await request.answer).status)
    expect(await readdir(directory)).not.toContain(name)
  })
})

const paths = () => Array.from({ length: LARGE / (256 * 1024) }, (_, index) => `many/file-${index}.bin`)
const post = (path: string, body: object): SlowReader =>
  slowReader(at(path), {
    method: 'POST',
    headers: { ...authorization(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const ticket = async (chosen: string[]) => {
  const { url } = await guest.api.createDownload({ params: { id: folder.id }, body: { paths: chosen } })
  return slowReader(manager.url + url)
}

/** Routes by which files are read. */
const READS: Readonly<Record<string, () => SlowReader | Promise<SlowReader>>> = {
  'a file': () => slowReader(at('content?path=large.bin'), { headers: authorization() }),
  'a range of a file': () =>
    slowReader(at('content?path=large.bin'), { headers: { ...authorization(), range: `bytes=1-${LARGE - 1}` } }),
  'an archive': () => slowReader(at('archive?path=many'), { headers: authorization() }),
  'a bundle of files': () => post('bundles/read', { paths: paths() }),
  'a file by a link': () => ticket(['large.bin']),
  'an archive by a link': () => ticket(['many']),
}

describe.each(Object.entries(READS).map((entry, turn) => [...entry, turn] as const))('%s', (_route, read, turn) => {
  test('is sent whole while its reader may read, however slowly', async () => {
    using reader = await read()
    expect(await reader.begun).toMatch(/^HTTP\/1.1 20/)
    await delay(400) // several checks are made
    expect((await reader.readOn()).isCut).toBe(false)
  })

  test.each(endsOf(turn))('is cut when %s', async (_what, end) => {
    using reader = await read()
    expect(await reader.begun).toMatch(/^HTTP\/1.1 20/)
    await end()
    expect((await reader.readOn(5)).isCut).toBe(true)
  })
})

describe('the pages of a large directory', () => {
  let group: { readonly id: GroupId }
  let shared: Folder
  beforeAll(async () => {
    group = await admin.createGroup({ body: { name: 'lab' } })
    shared = await admin.createFolder({ body: { name: 'of-lab', group: group.id } })
    const cwd = join(manager.dataDir, 'storage', 'folders', shared.id)
    await promisify(execFile)('sh', ['-c', 'seq 10200 | xargs touch'], { cwd })
  })
  beforeEach(() => admin.addGroupMember({ params: { id: group.id, userId: guest.id } }))
  afterEach(async () => {
    await admin.restoreFolder({ params: { id: shared.id } })
    await admin.updateGroup({ params: { id: group.id }, body: { active: true } })
  })

  const pageOf = (after?: string | null) =>
    guest.api.listFiles({ params: { id: shared.id }, query: { limit: '1000', ...(after ? { after } : {}) } })

  test('come while their reader may read', async () => {
    const first = await pageOf()
    expect(first.sorted).toBe(false)
    expect((await pageOf(first.next)).items).toHaveLength(1_000)
  })

  test.each<[string, string, () => Promise<unknown>]>([
    [
      'the reader leaves the project',
      'folder_not_found',
      () => admin.removeGroupMember({ params: { id: group.id, userId: guest.id } }),
    ],
    [
      'the project is deactivated',
      'group_inactive',
      () => admin.updateGroup({ params: { id: group.id }, body: { active: false } }),
    ],
    ['the folder is in the trash', 'folder_not_found', () => admin.trashFolder({ params: { id: shared.id } })],
  ])('end when %s', async (_what, code, end) => {
    const first = await pageOf()
    expect(first.sorted).toBe(false)
    await end()
    await expect(pageOf(first.next)).rejects.toMatchObject({ code })
  })
})
