import { createHash } from 'node:crypto'
import { chmod, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, BUNDLE_CONTENT, type BundleEntrySpec, type BundleResult, type Folder } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

let manager: TestManager
let owner: { id: string; token: string; api: ApiClient }
let folder: Folder
let directory: string
beforeAll(async () => {
  manager = await startTestManager()
  owner = await manager.addUser('owner@example.org')
  folder = await owner.api.createFolder({ body: { name: 'data' } })
  directory = join(manager.dataDir, 'storage', 'folders', folder.id)
})
afterAll(() => manager[Symbol.asyncDispose]())

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
const partNames = () => readdir(join(manager.dataDir, 'storage', 'uploads'))

function frame(header: object, bytes: string | Buffer = ''): Buffer {
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return Buffer.concat([length, text, Buffer.from(bytes)])
}
const file = (path: string, bytes: string, more: Partial<BundleEntrySpec> = {}) =>
  frame({ path, size: Buffer.byteLength(bytes), sha256: sha256(bytes), ...more }, bytes)

async function send(body: Buffer, { token = owner.token, id = folder.id } = {}) {
  const reply = await rawRequest(`${manager.url}/api/v1/folders/${id}/bundles`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': BUNDLE_CONTENT },
    body,
  })
  return { ...reply, items: (reply.json as Partial<BundleResult> | undefined)?.items ?? [] }
}

test('a request with too many parts in all its paths is refused before anything is opened', async () => {
  const other = await owner.api.createFolder({ body: { name: 'other' } })
  const paths = Array.from({ length: 130 }, (_, index) => `${'a/'.repeat(400)}${index}`)
  const post = async (road: string, body: object) => {
    const headers = { authorization: `Bearer ${owner.token}` }
    const reply = await rawRequest(`${manager.url}/api/v1/folders/${folder.id}/${road}`, {
      method: 'POST',
      headers,
      body,
    })
    return { status: reply.status, cause: (reply.json?.data as { cause?: string } | undefined)?.cause }
  }
  const refused = { status: 400, cause: 'path_parts_at_most' }
  for (const road of ['checksums', 'bundles/read', 'deletions', 'downloads']) {
    expect(await post(road, { paths }), road).toEqual(refused)
  }
  for (const road of ['moves', 'copies']) expect(await post(road, { paths, to: '' }), road).toEqual(refused)
  expect(await post('imports', { paths, to: '', from: other.id })).toEqual(refused)
  const bundle = await send(Buffer.concat(paths.map(path => file(path, ''))))
  expect(bundle).toMatchObject({ status: 400, json: { data: { cause: 'path_parts_at_most' } } })
  expect(await readdir(directory)).toEqual([])
  const few = paths.slice(0, 100)
  expect(await post('checksums', { paths: few })).toMatchObject({ status: 200 })
})

test('files and empty directories of a bundle get the owner and mode of files that sessions write', async () => {
  const time = '2024-05-06T07:08:09.000Z'
  const sent = await send(
    Buffer.concat([
      file('many/a ü.txt', 'one', { modifiedAt: time }),
      file('many/deep/er/b', ''),
      frame({ path: 'many/empty/dir', kind: 'directory' }),
      file('top.txt', 'three'),
    ]),
  )
  expect(sent.status).toBe(200)
  expect(sent.items).toEqual(
    ['many/a ü.txt', 'many/deep/er/b', 'many/empty/dir', 'top.txt'].map(path => ({ path, error: null })),
  )
  expect(await readFile(join(directory, 'many/a ü.txt'), 'utf8')).toBe('one')
  expect(await readdir(join(directory, 'many/empty/dir'))).toEqual([])
  const { mode, uid, nlink, mtime } = await stat(join(directory, 'many/a ü.txt'))
  expect({ mode: mode & 0o777, uid, nlink, mtime: mtime.toISOString() }).toEqual({
    mode: 0o644,
    uid: (await stat(directory)).uid,
    nlink: 1,
    mtime: time,
  })
  expect(await partNames()).toEqual([])
})

test('each entry has its own result: a taken name, damage, or something else in its place', async () => {
  await writeFile(join(directory, 'taken'), 'old')
  await mkdir(join(directory, 'a-dir'))
  await symlink('/etc', join(directory, 'link'))
  const { status, items } = await send(
    Buffer.concat([
      file('taken', 'new'),
      file('taken', 'newer', { onConflict: 'rename' }),
      frame({ path: 'damaged', size: 3, sha256: sha256('abc') }, 'abd'),
      file('link/passwd', 'x'),
      file('a-dir', 'x', { onConflict: 'replace' }),
      frame({ path: 'taken', kind: 'directory' }),
      file('fine', 'x'),
    ]),
  )
  expect(status).toBe(200)
  expect(items.map(({ path, error }) => [path, error?.code ?? null])).toEqual([
    ['taken', 'file_exists'],
    ['taken (1)', null],
    ['damaged', 'upload_damaged'],
    ['link/passwd', 'file_kind_refused'],
    ['a-dir', 'file_kind_refused'],
    ['taken', 'file_kind_refused'],
    ['fine', null],
  ])
  expect(await readFile(join(directory, 'taken'), 'utf8')).toBe('old')
  expect(await readFile(join(directory, 'taken (1)'), 'utf8')).toBe('newer')
  expect(await readdir(directory)).not.toContain('damaged')
  expect(await partNames()).toEqual([])
})

test('files of a bundle that replace scripts stay executable unless the client says otherwise', async () => {
  const names = ['run-kept', 'run-told', 'plain']
  for (const name of names) await writeFile(join(directory, name), 'old')
  for (const name of ['run-kept', 'run-told']) await chmod(join(directory, name), 0o700)
  await send(
    Buffer.concat([
      file('run-kept', 'new', { onConflict: 'replace' }),
      file('run-told', 'new', { onConflict: 'replace', executable: false }),
      file('plain', 'new', { onConflict: 'replace' }),
    ]),
  )
  const found = await Promise.all(names.map(async name => (await stat(join(directory, name))).mode & 0o777))
  expect(found).toEqual([0o700, 0o600, 0o644])
  expect(await readFile(join(directory, 'run-kept'), 'utf8')).toBe('new')
})

test('files of a bundle that are for their owner alone stay so, and private keys are', async () => {
  const key = '-----BEGIN RSA PRIVATE KEY-----\n'
  await send(
    Buffer.concat([
      file('token', 'secret', { ownerOnly: true }),
      file('runs', 'secret', { ownerOnly: true, executable: true }),
      file('id_rsa', key, { executable: false }),
      file('home/.ssh/known_hosts', 'x'),
    ]),
  )
  const paths = ['token', 'runs', 'id_rsa', 'home/.ssh/known_hosts', 'home/.ssh']
  const found = await Promise.all(paths.map(async path => (await stat(join(directory, path))).mode & 0o777))
  expect(found).toEqual([0o600, 0o700, 0o600, 0o600, 0o700])
})

test('a repeated bundle reports files that are there already, and only those', async () => {
  const body = (again: boolean) =>
    Buffer.concat([file('again/1', 'one', { again }), file('again/2', 'two', { again, onConflict: 'rename' })])
  await send(body(false))
  expect((await send(body(false))).items.map(({ path, error }) => [path, error?.code ?? null])).toEqual([
    ['again/1', 'file_exists'],
    ['again/2 (1)', null],
  ])
  const again = await send(body(true))
  expect(again.items).toEqual([
    { path: 'again/1', error: null },
    { path: 'again/2', error: null },
  ])
  expect((await readdir(join(directory, 'again'))).toSorted()).toEqual(['1', '2', '2 (1)'])
  const other = await send(file('again/1', 'another', { again: true }))
  expect(other.items[0]?.error?.code).toBe('file_exists')
  expect(await partNames()).toEqual([])
})

test('a body that is cut, malformed or too long places nothing and leaves nothing', async () => {
  const whole = file('half/1', 'one')
  const cases = [
    [Buffer.concat([whole, file('half/2', 'two').subarray(0, -1)]), 408],
    [Buffer.concat([whole, frame({ path: '../out', size: 0, sha256: sha256('') })]), 400],
    [Buffer.concat([whole, frame({ path: 'half/3', size: 2 ** 20 + 1, sha256: sha256('') })]), 400],
    [Buffer.concat([whole, Buffer.from([0xff, 0xff, 0xff, 0xff])]), 400],
    [Buffer.concat([whole, frame({ path: 'half/4', size: 0 })]), 400],
    [Buffer.concat(Array.from({ length: 1_001 }, (_, i) => frame({ path: `half/${i}`, kind: 'directory' }))), 409],
    [Buffer.concat(Array.from({ length: 33 }, (_, i) => file(`half/big${i}`, 'x'.repeat(2 ** 20)))), 413],
  ] as const
  for (const [body, status] of cases) expect((await send(body)).status, body.subarray(0, 80).toString()).toBe(status)
  expect(await readdir(directory)).not.toContain('half')
  expect(await partNames()).toEqual([])
})

test('one person has so many bundles under way, others have their own, and an end makes room', async () => {
  const crowd = await manager.addUser('crowd@example.org')
  const { id } = await crowd.api.createFolder({ body: { name: 'crowd' } })
  const headers = { authorization: `Bearer ${crowd.token}`, 'content-type': BUNDLE_CONTENT, 'content-length': 1_000 }
  const codeOf = async () => {
    const { status, json } = await send(file('one', 'x'), { token: crowd.token, id })
    return [status, json?.code, (json?.data as { cause?: string } | undefined)?.cause]
  }
  const begun = Array.from({ length: 16 }, () => {
    const request = httpRequest(`${manager.url}/api/v1/folders/${id}/bundles`, {
      method: 'POST',
      headers,
      agent: false,
    })
    request.on('error', () => undefined) // cut at the end
    request.write(file('never', 'x'))
    return request
  })
  await expect.poll(codeOf).toEqual([429, 'rate_limited', 'bundles_of_person'])
  expect((await send(file('crowded', 'x'))).status).toBe(200)
  begun[0]?.destroy()
  await expect.poll(async () => (await codeOf())[0]).toBe(200)
  for (const request of begun) request.destroy()
})

test('uploading a bundle needs the right to write, downloading one the right to read', async () => {
  const stranger = await manager.addUser('stranger@example.org')
  expect((await send(file('x', 'x'), { token: stranger.token })).status).toBe(404)
  const reader = await manager.addUser('reader@example.org')
  await owner.api.inviteToFolder({ params: { id: folder.id }, body: { email: 'reader@example.org', permission: 'ro' } })
  for (const { id } of (await reader.api.listFolderInvitations()).items)
    await reader.api.acceptFolderInvitation({ params: { id } })
  expect((await send(file('x', 'x'), { token: reader.token })).status).toBe(403)
  expect(await readdir(directory)).not.toContain('x')
  expect((await read(['top.txt'], reader.token)).files).toMatchObject([{ path: 'top.txt', bytes: 'three' }])
  expect((await read(['top.txt'], stranger.token)).status).toBe(404)
})

test('pages that show the directory of a bundle get a hint', async () => {
  const { items } = await send(file('told/1', 'x'))
  expect(items).toEqual([{ path: 'told/1', error: null }])
  const told = { params: { id: folder.id }, query: { path: 'told' } }
  await expect.poll(async () => (await owner.api.listFiles(told)).items).toHaveLength(1)
})

async function post(route: string, paths: readonly string[], token: string) {
  return await fetch(`${manager.url}/api/v1/folders/${folder.id}/${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ paths }),
  })
}

async function read(paths: readonly string[], token = owner.token) {
  const reply = await post('bundles/read', paths, token)
  const body = Buffer.from(await reply.arrayBuffer())
  const files: { path: string; size: number; error: { code: string } | null; bytes: string }[] = []
  for (let at = 0; reply.ok && at < body.length;) {
    const length = body.readUInt32BE(at)
    const header = JSON.parse(body.subarray(at + 4, at + 4 + length).toString()) as (typeof files)[number]
    at += 4 + length + header.size
    files.push({ ...header, bytes: body.subarray(at - header.size, at).toString() })
  }
  return { status: reply.status, files }
}

test('small files are read in one body, in the order of their paths, each with its error', async () => {
  await mkdir(join(directory, 'read'))
  await writeFile(join(directory, 'read/a'), 'A')
  await writeFile(join(directory, 'read/empty'), '')
  await writeFile(join(directory, 'read/large'), Buffer.alloc(2 ** 20 + 1))
  await symlink('/etc/passwd', join(directory, 'read/link'))
  await writeFile(join(directory, 'read/odd'), 'odd')
  const { files } = await read([
    'read/odd',
    'read/a',
    'read/none',
    'read/link',
    'read',
    'read/large',
    'read/empty',
    'read/a',
  ])
  expect(files.map(({ path, bytes, error }) => [path, bytes, error?.code ?? null])).toEqual([
    ['read/odd', 'odd', null],
    ['read/a', 'A', null],
    ['read/none', '', 'file_not_found'],
    ['read/link', '', 'file_kind_refused'],
    ['read', '', 'file_kind_refused'],
    ['read/large', '', 'body_too_large'],
    ['read/empty', '', null],
    ['read/a', 'A', null],
  ])
})

test('checksums come in order, with null for files that cannot be read', async () => {
  await writeFile(join(directory, 'sum'), 'sum')
  await link(join(directory, 'sum'), join(directory, 'sum2'))
  const reply = await post('checksums', ['sum', 'none', 'many', 'sum2'], owner.token)
  const lines = (await reply.text())
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as unknown)
  expect(lines).toEqual([
    { path: 'sum', sha256: sha256('sum') },
    { path: 'none', sha256: null },
    { path: 'many', sha256: null },
    { path: 'sum2', sha256: sha256('sum') },
  ])
})
