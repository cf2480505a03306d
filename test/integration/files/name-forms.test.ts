import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type ApiClient,
  BUNDLE_CONTENT,
  type BundleResult,
  type FileConflict,
  type Folder,
  TUS_CONTENT,
  TUS_VERSION,
} from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'

/** A name as written by a keyboard, and as written by a Mac. */
const [TYPED, MAC] = ['보고서.txt'.normalize('NFC'), '보고서.txt'.normalize('NFD')]
const [TYPED_DIRECTORY, MAC_DIRECTORY] = ['données'.normalize('NFC'), 'données'.normalize('NFD')]

let manager: TestManager
let api: ApiClient
let token: string
let cli: Cli
let folder: Folder
let directory: string
let local: string
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  manager = stack.use(await startTestManager())
  cli = stack.use(await createCli())
  await cli.signIn(manager.url)
  const user = await manager.signIn()
  api = user.api
  token = user.token
  folder = await api.createFolder({ body: { name: 'data' } })
  directory = join(manager.dataDir, 'storage', 'folders', folder.id)
})
afterAll(() => stack.disposeAsync())
beforeEach(async () => {
  local = stack.use(await temporaryDirectory()).path
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true })
  await mkdir(join(directory, TYPED_DIRECTORY))
  await writeFile(join(directory, TYPED_DIRECTORY, TYPED), 'there')
})

const there = async (at = TYPED_DIRECTORY) =>
  Object.fromEntries(
    await Promise.all(
      (await readdir(join(directory, at))).map(async name => [name, await readFile(join(directory, at, name), 'utf8')]),
    ),
  ) as Record<string, string>
const send = (path: string, method: string, headers: Record<string, string>, body: string | Buffer) =>
  fetch(`${manager.url}/api/v1/folders/${folder.id}/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: new Uint8Array(Buffer.from(body)),
  })

async function byUpload(path: string, onConflict: FileConflict, text: string) {
  const metadata = Object.entries({ path, onConflict })
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',')
  const headers = {
    'tus-resumable': TUS_VERSION,
    'upload-length': String(Buffer.byteLength(text)),
    'upload-metadata': metadata,
    'content-type': TUS_CONTENT,
  }
  const reply = await send('uploads', 'POST', headers, text)
  const { path: taken, code } = (await reply.json()) as { path?: string; code?: string }
  return taken ?? code
}

async function byBundle(path: string, onConflict: FileConflict, text: string) {
  const sha256 = createHash('sha256').update(text).digest('hex')
  const header = Buffer.from(JSON.stringify({ path, onConflict, size: Buffer.byteLength(text), sha256 }))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(header.length)
  const body = Buffer.concat([length, header, Buffer.from(text)])
  const reply = await send('bundles', 'POST', { 'content-type': BUNDLE_CONTENT }, body)
  const { items } = (await reply.json()) as BundleResult
  return items[0]?.error?.code ?? items[0]?.path
}

test.each([
  ['an upload', byUpload],
  ['a bundle', byBundle],
])('%s from a Mac meets the file that a keyboard has named, in its directory', async (_what, upload) => {
  const path = `${MAC_DIRECTORY}/${MAC}`
  expect(await upload(path, 'fail', 'new')).toBe('file_exists')
  expect(await there()).toEqual({ [TYPED]: 'there' })
  expect(await upload(path, 'replace', 'new')).toBe(`${TYPED_DIRECTORY}/${TYPED}`)
  expect(await there()).toEqual({ [TYPED]: 'new' })
  const numbered = TYPED.replace('.txt', ' (1).txt')
  expect(await upload(path, 'rename', 'beside')).toBe(`${TYPED_DIRECTORY}/${numbered}`)
  expect(await there()).toEqual({ [TYPED]: 'new', [numbered]: 'beside' })
  expect(await upload(`${MAC_DIRECTORY}/new/${MAC}`, 'fail', 'below')).toBe(`${TYPED_DIRECTORY}/new/${MAC}`)
  expect(await readdir(directory)).toEqual([TYPED_DIRECTORY])
  // An existing name with the same spelling takes precedence.
  await writeFile(join(directory, TYPED_DIRECTORY, MAC), 'of a session')
  expect(await upload(path, 'replace', 'of a Mac')).toBe(`${TYPED_DIRECTORY}/${MAC}`)
  expect(await readFile(join(directory, TYPED_DIRECTORY, TYPED), 'utf8')).toBe('new')
})

test('moves, copies, new directories and new files ask about a name in another form; an entry may change its own form', async () => {
  await writeFile(join(directory, MAC), 'mine')
  const params = { id: folder.id }
  const spec = { paths: [MAC], to: TYPED_DIRECTORY }
  const taken = expect.objectContaining({ code: 'file_exists' }) as unknown
  await expect(api.moveFiles({ params, body: { ...spec, onConflict: 'fail' } })).rejects.toEqual(taken)
  await expect(api.copyFiles({ params, body: { ...spec, onConflict: 'fail' } })).rejects.toEqual(taken)
  await expect(api.makeDirectory({ params, body: { path: MAC_DIRECTORY } })).rejects.toEqual(taken)
  const written = await send(
    `content?path=${encodeURIComponent(`${MAC_DIRECTORY}/${MAC}`)}`,
    'PUT',
    { 'if-none-match': '*', 'content-type': 'application/octet-stream' },
    'x',
  )
  expect(written.status).toBe(412)
  await api.copyFiles({ params, body: { ...spec, onConflict: 'replace' } })
  expect(await there()).toEqual({ [TYPED]: 'mine' })
  await api.moveFiles({ params, body: { paths: [MAC], to: '', name: TYPED, onConflict: 'fail' } })
  expect(await readdir(directory)).toEqual([TYPED_DIRECTORY, TYPED].toSorted())
  await api.moveFiles({ params, body: { paths: [TYPED], to: TYPED_DIRECTORY, name: MAC, onConflict: 'replace' } })
  expect(await there()).toEqual({ [TYPED]: 'mine' })
})

test('the command line does not make, delete or replace twins', async () => {
  await writeFile(join(local, MAC), 'new')
  const synced = await cli.run(['folder', 'sync', 'data', local, MAC_DIRECTORY, '--to', '--delete', '--json'])
  expect(synced).toMatchObject({ code: 0 })
  expect(JSON.parse(synced.out)).toMatchObject({ files: 1, deleted: 0 })
  expect(await there()).toEqual({ [TYPED]: 'new' })
  const again = await cli.run(['folder', 'sync', 'data', local, TYPED_DIRECTORY, '--from', '--delete', '--json'])
  expect(JSON.parse(again.out)).toMatchObject({ files: 0, same: 1, deleted: 0 })
  expect(await readdir(local)).toEqual([MAC])

  await writeFile(join(local, TYPED), 'other')
  const sent = await cli.run(['folder', 'upload', 'data', local, 'both', '--json'])
  expect(JSON.parse(sent.out)).toMatchObject({ files: 1, twins: [expect.stringContaining(local)] })
})
