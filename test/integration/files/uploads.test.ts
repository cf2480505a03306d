import { createHash, randomBytes } from 'node:crypto'
import { chmod, link, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Upload as TusUpload, type UploadOptions } from 'tus-js-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, type Folder, FolderId } from '#manager/contract'
import { CALL_LIMITS } from '../../../manager/http/call-limiter.ts'
import { startCuttingProxy } from '../../fixtures/cutting-proxy.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

const KiB = 1024
const MiB = 1024 * KiB

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

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const uploadsAt = (url = manager.url, id: string = folder.id) => `${url}/api/v1/folders/${id}/uploads`
const base64 = (text: string) => Buffer.from(text).toString('base64')
const metadata = (fields: Record<string, string>) =>
  Object.entries(fields)
    .map(([key, value]) => `${key} ${base64(value)}`)
    .join(',')
const partNames = () => readdir(join(manager.dataDir, 'storage', 'uploads'))

interface TusRequest {
  readonly method: string
  readonly headers?: Record<string, string>
  readonly body?: Buffer
  readonly token?: string
}

function tus(url: string, { method, headers = {}, body, token = owner.token }: TusRequest) {
  return rawRequest(url, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'tus-resumable': '1.0.0',
      ...(body ? { 'content-type': 'application/offset+octet-stream' } : {}),
      ...headers,
    },
    ...(body ? { body } : {}),
  })
}

async function create(size: number, fields: Record<string, string>, body?: Buffer) {
  const reply = await tus(uploadsAt(), {
    method: 'POST',
    headers: { 'upload-length': String(size), 'upload-metadata': metadata(fields) },
    ...(body ? { body } : {}),
  })
  return { ...reply, url: manager.url + (reply.headers.location ?? ''), id: String(reply.json?.id) }
}

const send = (url: string, offset: number, body: Buffer) =>
  tus(url, { method: 'PATCH', headers: { 'upload-offset': String(offset) }, body })

/** Uploads with tus-js-client, the client of the console. */
function uploadBy(endpoint: string, content: Buffer, path: string, options: Partial<UploadOptions> = {}) {
  return new Promise<TusUpload>((resolve, reject) => {
    const upload = new TusUpload(content, {
      endpoint,
      headers: { authorization: `Bearer ${owner.token}` },
      metadata: { path },
      retryDelays: [0, 100, 500, 1_000, 2_000, 3_000, 5_000, 5_000],
      onSuccess: () => resolve(upload),
      onError: reject,
      ...options,
    })
    upload.start()
  })
}

describe('an upload by a tus client', () => {
  test('an upload creates the whole file at once, with the owner and mode of files that sessions write', async () => {
    const content = randomBytes(5 * MiB)
    const seen: number[] = []
    await uploadBy(uploadsAt(), content, 'new/deep/model.bin', {
      chunkSize: MiB,
      metadata: { path: 'new/deep/model.bin', modifiedAt: '2024-05-06T07:08:09.000Z', sha256: sha256(content) },
      onChunkComplete: () =>
        void stat(join(directory, 'new/deep/model.bin')).then(
          ({ size }) => seen.push(size),
          () => undefined,
        ),
    })
    const path = join(directory, 'new/deep/model.bin')
    expect(sha256(await readFile(path))).toBe(sha256(content))
    const { mode, mtime, uid, nlink } = await stat(path)
    expect({ mode: mode & 0o777, mtime: mtime.toISOString(), nlink }).toEqual({
      mode: 0o644,
      mtime: '2024-05-06T07:08:09.000Z',
      nlink: 1,
    })
    expect(uid).toBe((await stat(directory)).uid)
    expect((await stat(join(directory, 'new'))).mode & 0o777).toBe(0o755)
    expect(seen.filter(size => size !== content.length)).toEqual([])
    expect(await partNames()).toEqual([])
  })

  test('an upload continues through five cut connections', async () => {
    await using relay = await startCuttingProxy(manager.url, { cuts: 5, afterBytes: 1.5 * MiB })
    const content = randomBytes(12 * MiB)
    await uploadBy(uploadsAt(relay.url), content, 'cut.bin', {
      headers: { authorization: `Bearer ${owner.token}`, host: new URL(manager.url).host },
      metadata: { path: 'cut.bin', sha256: sha256(content) },
    })
    expect(relay.cuts()).toBe(5)
    expect(sha256(await readFile(join(directory, 'cut.bin')))).toBe(sha256(content))
  })

  test('the upload of a small file needs one request', async () => {
    const content = Buffer.from('small')
    await uploadBy(uploadsAt(), content, 'small.txt', { uploadDataDuringCreation: true })
    expect(await readFile(join(directory, 'small.txt'), 'utf8')).toBe('small')
    const empty = await create(0, { path: 'empty.txt' })
    expect(empty).toMatchObject({ status: 201, json: { finished: true, size: 0 } })
    expect(await readFile(join(directory, 'empty.txt'), 'utf8')).toBe('')
  })

  test('a client that knows nothing of Berth names the file by filename, and may have no PATCH', async () => {
    const content = randomBytes(3 * MiB)
    const options = { overridePatchMethod: true, chunkSize: MiB }
    await uploadBy(uploadsAt(), content, '', { ...options, metadata: { filename: 'foreign.bin', filetype: 'any' } })
    expect(sha256(await readFile(join(directory, 'foreign.bin')))).toBe(sha256(content))
    await uploadBy(uploadsAt(), content, '', { metadata: { path: 'named/by-path.bin', filename: 'other.bin' } })
    expect((await stat(join(directory, 'named/by-path.bin'))).size).toBe(content.length)
    const nameless = await create(1, { filetype: 'any' })
    expect(nameless).toMatchObject({ status: 400, json: { detail: 'Upload-Metadata: path must name the new file' } })
    // The header has no effect on other addresses or methods.
    const headers = { 'x-http-method-override': 'DELETE' }
    const { url } = await create(10, { path: 'kept.txt' }, Buffer.from('12345'))
    expect(await tus(url, { method: 'HEAD', headers })).toMatchObject({ status: 204 })
    expect(await tus(`${url}/finish`, { method: 'POST', headers })).toMatchObject({ status: 400 })
    expect(await tus(url, { method: 'POST', headers })).toMatchObject({ status: 204 })
    expect(await tus(url, { method: 'HEAD' })).toMatchObject({ status: 404 })
  })

  test('parts of a file that a client would join later are refused with the reason', async () => {
    const parts = uploadBy(uploadsAt(), randomBytes(2 * MiB), '', {
      parallelUploads: 2,
      metadataForPartialUploads: { path: 'joined.bin' },
      metadata: { path: 'joined.bin' },
      retryDelays: [],
    })
    await expect(parts).rejects.toThrow(/Upload the file as one/)
    expect(await readdir(directory)).not.toContain('joined.bin')
    expect(await partNames()).toEqual([])
  })

  test('a cancelled upload leaves no bytes', async () => {
    const { url } = await create(10, { path: 'gone.txt' }, Buffer.from('12345'))
    expect(await partNames()).toHaveLength(1)
    await TusUpload.terminate(url, { headers: { authorization: `Bearer ${owner.token}` } })
    expect(await partNames()).toEqual([])
    expect(await tus(url, { method: 'HEAD' })).toMatchObject({ status: 404 })
  })
})

describe('the upload protocol', () => {
  test('OPTIONS describes the protocol, and another version is refused', async () => {
    const { status, headers } = await tus(uploadsAt(), { method: 'OPTIONS' })
    expect(status).toBe(204)
    expect(headers).toMatchObject({
      'tus-version': '1.0.0',
      'tus-extension': 'creation,creation-with-upload,termination,expiration',
    })
    const old = await tus(uploadsAt(), { method: 'POST', headers: { 'tus-resumable': '0.2.2', 'upload-length': '1' } })
    expect(old).toMatchObject({ status: 412, json: { code: 'upload_version' } })
    expect(old.headers).toMatchObject({ 'tus-version': '1.0.0', 'tus-resumable': '1.0.0' })
  })

  test('HEAD returns offset, length and expiry; a request at another offset is refused and changes nothing', async () => {
    const { url, status, headers } = await create(10, { path: 'ten.txt' })
    expect(status).toBe(201)
    expect(headers).toMatchObject({ 'upload-offset': '0', 'tus-resumable': '1.0.0' })
    expect(new Date(headers['upload-expires'] as string).getTime()).toBeGreaterThan(Date.now() + 6 * 24 * 3_600_000)
    expect((await send(url, 0, Buffer.from('0123'))).headers['upload-offset']).toBe('4')
    expect(await send(url, 5, Buffer.from('56789'))).toMatchObject({
      status: 409,
      json: { code: 'upload_offset', data: { offset: 4 } },
    })
    expect(await send(url, 4, Buffer.from('4567890'))).toMatchObject({ status: 400 })
    expect((await tus(url, { method: 'HEAD' })).headers).toMatchObject({ 'upload-offset': '4', 'upload-length': '10' })
    expect((await owner.api.listUploads({ params: { id: folder.id } })).items).toMatchObject([
      { path: 'ten.txt', size: 10, offset: 4, finished: false },
    ])
    const last = await send(url, 4, Buffer.from('456789'))
    expect(last).toMatchObject({ status: 204 })
    expect(last.headers).toMatchObject({ 'upload-offset': '10', 'berth-uploaded-path': 'ten.txt' })
    expect(await readFile(join(directory, 'ten.txt'), 'utf8')).toBe('0123456789')
    // A client that has lost the last answer asks again.
    expect((await tus(url, { method: 'HEAD' })).headers).toMatchObject({ 'upload-offset': '10' })
    expect((await owner.api.listUploads({ params: { id: folder.id } })).items).toEqual([])
  })

  test.each([
    ['no length', { 'upload-metadata': metadata({ path: 'a' }) }],
    ['a length that is no number', { 'upload-length': '1e3', 'upload-metadata': metadata({ path: 'a' }) }],
    ['no path', { 'upload-length': '1' }],
    [
      'an unknown answer to conflicts',
      { 'upload-length': '1', 'upload-metadata': metadata({ path: 'a', onConflict: 'merge' }) },
    ],
    ['a way up', { 'upload-length': '1', 'upload-metadata': metadata({ path: '../a' }) }],
    ['an absolute path', { 'upload-length': '1', 'upload-metadata': metadata({ path: '/etc/a' }) }],
    ['a name of 256 bytes', { 'upload-length': '1', 'upload-metadata': metadata({ path: 'é'.repeat(128) }) }],
  ])('an upload with %s is refused', async (_what, headers) => {
    expect(await tus(uploadsAt(), { method: 'POST', headers })).toMatchObject({ status: 400 })
  })

  test('a streamed body is refused at other routes', async () => {
    const reply = await tus(`${manager.url}/api/v1/folders`, { method: 'POST', body: Buffer.from('{"name":"x"}') })
    expect(reply).toMatchObject({ status: 400, json: { code: 'bad_request' } })
  })

  test('an upload that does not fit into the storage is refused', async () => {
    expect(await create(2 ** 52, { path: 'huge' })).toMatchObject({ status: 507, json: { code: 'disk_full' } })
  })
})

describe('an upload to a name that is taken', () => {
  test('the name is refused, replaced, or numbered', async () => {
    await writeFile(join(directory, 'taken.tar.gz'), 'old')
    expect(await create(3, { path: 'taken.tar.gz' }, Buffer.from('new'))).toMatchObject({
      status: 409,
      json: { code: 'file_exists' },
    })
    const beside = await create(3, { path: 'taken.tar.gz', onConflict: 'rename' }, Buffer.from('new'))
    expect(beside.json).toMatchObject({ path: 'taken (1).tar.gz', finished: true })
    expect(await readFile(join(directory, 'taken.tar.gz'), 'utf8')).toBe('old')
    expect(
      (await create(4, { path: 'taken.tar.gz', onConflict: 'replace' }, Buffer.from('newer'.slice(0, 4)))).status,
    ).toBe(201)
    expect(await readFile(join(directory, 'taken.tar.gz'), 'utf8')).toBe('newe')
  })

  test('a script that is replaced stays executable unless the client says otherwise; nothing else hands on its mode', async () => {
    const script = join(directory, 'script.sh')
    await writeFile(script, 'old')
    await symlink('script.sh', join(directory, 'script-link'))
    const replace = async (path: string, more: Record<string, string> = {}) => {
      await create(3, { path, onConflict: 'replace', ...more }, Buffer.from('new'))
      return (await lstat(join(directory, path))).mode & 0o7777
    }
    // Never set-user-id.
    await chmod(script, 0o4750)
    expect(await replace('script.sh')).toBe(0o750)
    expect(await readFile(script, 'utf8')).toBe('new')
    expect(await replace('script-link')).toBe(0o644)
    expect(await replace('script.sh', { executable: 'false' })).toBe(0o640)
    expect(await replace('script.sh', { executable: 'true' })).toBe(0o750)
    expect(await replace('script.sh', { executable: 'true', ownerOnly: 'true' })).toBe(0o700)
    await chmod(script, 0o755)
    const beside = await create(3, { path: 'script.sh', onConflict: 'rename' }, Buffer.from('new'))
    expect((await stat(join(directory, String(beside.json?.path)))).mode & 0o777).toBe(0o644)
    // Stored over several requests.
    const { url } = await create(4, { path: 'script.sh', onConflict: 'replace' }, Buffer.from('ab'))
    await send(url, 2, Buffer.from('cd'))
    expect((await stat(script)).mode & 0o777).toBe(0o755)
  })

  test('a private key and whatever is below .ssh is for its owner alone, and so is what the client says', async () => {
    const key = Buffer.from('-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n')
    const upload = async (path: string, bytes: Buffer, more: Record<string, string> = {}) => {
      await create(bytes.length, { path, ...more }, bytes)
      return (await lstat(join(directory, path))).mode & 0o777
    }
    expect(await upload('id_test', key)).toBe(0o600)
    expect(await upload('home/.ssh/deep/config', Buffer.from('Host *'), { executable: 'false' })).toBe(0o600)
    const modes = ['home', 'home/.ssh', 'home/.ssh/deep'].map(async path => (await stat(join(directory, path))).mode)
    expect((await Promise.all(modes)).map(mode => mode & 0o777)).toEqual([0o755, 0o700, 0o700])
    expect(await upload('token', Buffer.from('secret'), { ownerOnly: 'true' })).toBe(0o600)
    const { items } = await owner.api.listFiles({ params: { id: folder.id }, query: { path: '' } })
    expect(items.find(({ name }) => name === 'token')).toMatchObject({ ownerOnly: true })
    expect(items.find(({ name }) => name === 'home')).not.toHaveProperty('ownerOnly')
  })

  test('a name that is taken while bytes arrive is refused at the end, and the upload can be finished with another rule', async () => {
    const { url, id } = await create(4, { path: 'late.txt' }, Buffer.from('ab'))
    await writeFile(join(directory, 'late.txt'), 'of a session')
    expect(await send(url, 2, Buffer.from('cd'))).toMatchObject({ status: 409, json: { code: 'file_exists' } })
    expect(await readFile(join(directory, 'late.txt'), 'utf8')).toBe('of a session')
    const address = { id: folder.id, uploadId: id }
    const finished = await owner.api.finishUpload({ params: address, body: { onConflict: 'rename' } })
    expect(finished).toMatchObject({ path: 'late (1).txt', finished: true })
    expect(await readFile(join(directory, 'late (1).txt'), 'utf8')).toBe('abcd')
    expect(await owner.api.finishUpload({ params: address, body: {} })).toMatchObject({ path: 'late (1).txt' })
  })

  test('an upload replaces a link itself, not the file that it names', async () => {
    const outside = join(manager.dataDir, 'outside.txt')
    await writeFile(outside, 'secret')
    await symlink(outside, join(directory, 'link.txt'))
    expect((await create(3, { path: 'link.txt', onConflict: 'replace' }, Buffer.from('new'))).status).toBe(201)
    expect(await readFile(outside, 'utf8')).toBe('secret')
    expect(await readFile(join(directory, 'link.txt'), 'utf8')).toBe('new')
  })

  test('an upload never replaces a directory', async () => {
    await mkdir(join(directory, 'tree'))
    expect(await create(3, { path: 'tree', onConflict: 'replace' }, Buffer.from('new'))).toMatchObject({ status: 409 })
  })
})

describe('the hash of an upload', () => {
  test('a file that arrived damaged does not get into the folder', async () => {
    const wrong = await create(3, { path: 'hash.txt', sha256: sha256(Buffer.from('xyz')) }, Buffer.from('abc'))
    expect(wrong).toMatchObject({ status: 422, json: { code: 'upload_damaged' } })
    await expect(readFile(join(directory, 'hash.txt'))).rejects.toThrow('ENOENT')
    expect(await partNames()).toEqual([])
  })

  test('the hash may follow at the end, also at a manager that did not receive the first bytes', async () => {
    const { url, id } = await create(6, { path: 'later.txt', finish: 'later' }, Buffer.from('abc'))
    // Changed without the manager: it has hashed "abc" while writing, and must not trust this hash now.
    expect(await send(url, 3, Buffer.from('def'))).toMatchObject({ status: 204 })
    await expect(readFile(join(directory, 'later.txt'))).rejects.toThrow('ENOENT')
    const params = { id: folder.id, uploadId: id }
    await owner.api.finishUpload({ params, body: { sha256: sha256(Buffer.from('abcdef')) } })
    expect(await readFile(join(directory, 'later.txt'), 'utf8')).toBe('abcdef')
    const early = await create(6, { path: 'early.txt', finish: 'later' }, Buffer.from('abc'))
    const refused = owner.api.finishUpload({ params: { id: folder.id, uploadId: early.id }, body: {} })
    await expect(refused).rejects.toMatchObject({ code: 'upload_incomplete' })
  })
})

/** Begins a PATCH that announces so many bytes, and sends only these. */
function slowPatch(url: string, offset: number, length: number, bytes: Buffer) {
  const request = httpRequest(url, {
    method: 'PATCH',
    agent: false,
    headers: {
      authorization: `Bearer ${owner.token}`,
      'tus-resumable': '1.0.0',
      'content-type': 'application/offset+octet-stream',
      'upload-offset': String(offset),
      'content-length': String(length),
    },
  })
  const answered = new Promise<number>(resolve => {
    request.on('response', reply => resolve(reply.resume().statusCode ?? 0)).on('error', () => resolve(0))
  })
  request.write(bytes)
  return { request, answered }
}

test('one person has so many uploads that wait for bytes, others have their own, and an end makes room', async () => {
  const crowd = await manager.addUser('crowd@example.org')
  const { id } = await crowd.api.createFolder({ body: { name: 'crowd' } })
  const headers = { 'upload-length': '9', 'upload-metadata': metadata({ path: 'next.txt', onConflict: 'replace' }) }
  const next = async () => {
    const { status, json } = await tus(uploadsAt(manager.url, id), { method: 'POST', headers, token: crowd.token })
    return [status, (json?.data as { cause?: string } | undefined)?.cause]
  }
  const begun = Array.from({ length: CALL_LIMITS.long }, (_, index) => {
    const request = httpRequest(uploadsAt(manager.url, id), {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${crowd.token}`,
        'tus-resumable': '1.0.0',
        'content-type': 'application/offset+octet-stream',
        'upload-length': '9',
        'upload-metadata': metadata({ path: `${index}.txt` }),
        'content-length': '9',
      },
    })
    request.on('error', () => undefined) // cut at the end
    request.write('abc')
    return request
  })
  await expect.poll(next).toEqual([429, 'lasting_calls_of_person'])
  expect((await crowd.api.me()).user.email).toBe('crowd@example.org')
  expect((await create(1, { path: 'others.txt' }, Buffer.from('x'))).status).toBe(201)
  begun[0]?.destroy()
  await expect.poll(async () => (await next())[0]).toBe(201)
  for (const request of begun) request.destroy()
})

describe('two writers', () => {
  test('a second writer of an upload is refused while the first one writes, and takes over when it falls silent', async () => {
    const { url, id } = await create(9, { path: 'two.txt' })
    const first = slowPatch(url, 0, 9, Buffer.from('abc'))
    const partSize = async () => (await stat(join(manager.dataDir, 'storage', 'uploads', id))).size
    await expect.poll(() => partSize()).toBe(3)
    expect(await send(url, 3, Buffer.from('def'))).toMatchObject({ status: 423, json: { code: 'upload_locked' } })
    expect(await tus(url, { method: 'HEAD' })).toMatchObject({ status: 204 })
    await expect.poll(async () => (await send(url, 3, Buffer.from('def'))).status, { interval: 500 }).toBe(204)
    expect(await first.answered).toBe(423)
    first.request.destroy()
    expect((await send(url, 6, Buffer.from('ghi'))).status).toBe(204)
    expect(await readFile(join(directory, 'two.txt'), 'utf8')).toBe('abcdefghi')
  })

  test('of two uploads to one path one succeeds', async () => {
    const uploads = await Promise.all(
      'abcdefgh'.split('').map(letter => create(1, { path: 'race.txt' }, Buffer.from(letter))),
    )
    expect(uploads.filter(({ status }) => status === 201)).toHaveLength(1)
    const winner = uploads.findIndex(({ status }) => status === 201)
    expect(await readFile(join(directory, 'race.txt'), 'utf8')).toBe('abcdefgh'[winner])
  })
})

describe('rights to upload', () => {
  test("an upload of another user, or into another user's folder, does not exist", async () => {
    const stranger = await manager.addUser('stranger@example.org')
    const { url } = await create(4, { path: 'mine.txt' }, Buffer.from('ab'))
    for (const method of ['HEAD', 'PATCH', 'DELETE']) {
      const reply = await tus(url, {
        method,
        token: stranger.token,
        headers: { 'upload-offset': '2' },
        ...(method === 'PATCH' ? { body: Buffer.from('cd') } : {}),
      })
      expect(reply.status, method).toBe(404)
    }
    const theirs = {
      method: 'POST',
      token: stranger.token,
      headers: { 'upload-length': '1', 'upload-metadata': metadata({ path: 'a' }) },
    }
    expect(await tus(uploadsAt(), theirs)).toMatchObject({ status: 404, json: { code: 'folder_not_found' } })
    // The upload is not found under the id of a folder to which the stranger may write either.
    const own = await stranger.api.createFolder({ body: { name: 'own' } })
    const elsewhere = url.replace(folder.id, own.id)
    expect((await tus(elsewhere, { method: 'HEAD', token: stranger.token })).status).toBe(404)
    expect((await tus(url.replace(folder.id, FolderId.parse(own.id)), { method: 'HEAD' })).status).toBe(404)
  })

  test('rights are checked again at the end: a folder in the trash gets no file until it is restored', async () => {
    const other = await owner.api.createFolder({ body: { name: 'other' } })
    const headers = { 'upload-length': '4', 'upload-metadata': metadata({ path: 'a.txt' }) }
    const made = await tus(uploadsAt(manager.url, other.id), { method: 'POST', headers, body: Buffer.from('ab') })
    const url = manager.url + (made.headers.location ?? '')
    const params = { id: other.id }
    await owner.api.trashFolder({ params })
    expect((await send(url, 2, Buffer.from('cd'))).status).toBe(404)
    await owner.api.restoreFolder({ params })
    expect((await send(url, 2, Buffer.from('cd'))).status).toBe(204)
  })

  test('a long request ends soon after its folder went to the trash', async () => {
    const other = await owner.api.createFolder({ body: { name: 'short' } })
    const headers = { 'upload-length': '9', 'upload-metadata': metadata({ path: 'a.txt' }) }
    const made = await tus(uploadsAt(manager.url, other.id), { method: 'POST', headers })
    const slow = slowPatch(manager.url + (made.headers.location ?? ''), 0, 9, Buffer.from('abc'))
    await owner.api.trashFolder({ params: { id: other.id } })
    expect(await slow.answered).toBe(404)
    slow.request.destroy()
  })
})

test('a session that swaps a directory for a link cannot lead an upload out of the folder', async () => {
  const outside = join(manager.dataDir, 'outside')
  await mkdir(outside)
  await symlink(outside, join(directory, 'swapped'))
  const reply = await create(3, { path: 'swapped/file.txt' }, Buffer.from('new'))
  expect(reply).toMatchObject({ status: 409, json: { code: 'file_kind_refused' } })
  expect(await readdir(outside)).toEqual([])
})

test('the next request repairs an upload that was interrupted between its last two steps', async () => {
  const { url, id } = await create(4, { path: 'crash.txt', finish: 'later' }, Buffer.from('abcd'))
  // The state of the files after a manager is killed between `link` and `unlink`.
  await link(join(manager.dataDir, 'storage', 'uploads', id), join(directory, 'crash.txt'))
  const finished = await owner.api.finishUpload({ params: { id: folder.id, uploadId: id }, body: {} })
  expect(finished).toMatchObject({ finished: true, path: 'crash.txt' })
  expect(await readFile(join(directory, 'crash.txt'), 'utf8')).toBe('abcd')
  expect((await tus(url, { method: 'HEAD' })).headers['upload-offset']).toBe('4')
})

test('a body of unknown length arrives, and a long one needs constant memory', async () => {
  const size = 64 * MiB
  const { url } = await create(size, { path: 'large.bin' })
  const chunk = Buffer.alloc(MiB, 'x')
  let sent = 0
  const body = new Readable({
    read() {
      this.push(sent++ < size / MiB ? chunk : null)
    },
  })
  const reply = await fetch(url, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${owner.token}`,
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
    },
    body: Readable.toWeb(body) as ReadableStream,
    duplex: 'half',
  } as RequestInit)
  expect(reply.status).toBe(204)
  expect((await stat(join(directory, 'large.bin'))).size).toBe(size)
})
