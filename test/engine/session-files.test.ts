import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile } from 'node:fs/promises'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FileEntry, type SessionFilePage, type SessionId } from '#manager/contract'
import { type Berth, type BerthUser, root, startBerth } from '../fixtures/berth.ts'
import { heldRequest } from '../fixtures/held-request.ts'
import { blocksOf } from '../fixtures/page-blocks.ts'
import { slowReader } from '../fixtures/slow-reader.ts'

const run = promisify(execFile)

/** Files of a running session by the API, in a real container. */
const stack = new AsyncDisposableStack()
let berth: Berth
let owner: BerthUser
let token: string
let id: SessionId

beforeAll(async () => {
  berth = stack.use(await startBerth())
  owner = await berth.user('owner@example.org')
  token = (await owner.api.createAccessToken({ body: { name: 'files', scopes: ['launch', 'read', 'enter'] } })).token
  const launched = await call('POST', '/api/v1/sessions', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ image: 'berth/python:3.13', resources: { cpu: '1', mem: '512m' } }),
  })
  id = ((await launched.json()) as { items: { id: SessionId }[] }).items[0]?.id as SessionId
  await expectRunning()
})
afterAll(() => stack.disposeAsync())

async function expectRunning() {
  for (;;) {
    const { status } = await owner.api.getSession({ params: { id } })
    if (status === 'RUNNING') return
    if (status === 'ERROR') throw new Error('the session did not start')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
const call = (
  method: string,
  path: string,
  { headers, body }: { headers?: Record<string, string>; body?: Buffer | string } = {},
) =>
  fetch(berth.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body: body as BodyInit }),
  })
const content = (path: string) => `/api/v1/sessions/${id}/content?path=${encodeURIComponent(path)}`
const put = (path: string, body: Buffer | string, condition: Record<string, string> = { 'if-none-match': '*' }) =>
  call('PUT', content(path), { headers: { ...condition, 'content-type': 'application/octet-stream' }, body })
const list = async (path = '', query = '') =>
  (await (
    await call('GET', `/api/v1/sessions/${id}/files?path=${encodeURIComponent(path)}${query}`)
  ).json()) as SessionFilePage
const shell = (command: string) => owner.api.runCommand({ params: { id }, body: { command, waitSeconds: 30 } })
const codeOf = async (reply: Response) => [reply.status, ((await reply.json()) as { code?: string }).code]
const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('the requests of docs/api.md, as they stand on the page', async () => {
  const [, section = ''] = (await readFile(join(root, 'docs/api.md'), 'utf8')).split('## Files of sessions')
  const [script = ''] = blocksOf(section, 'sh')
  const directory = await mkdtemp(join(berth.data, 'files-'))
  const env = { ...process.env, BERTH: berth.url, ID: id, token }
  await run('sh', ['-eu', '-c', script], { cwd: directory, env, timeout: 60_000 })
  expect(await readFile(join(directory, 'rows.csv'), 'utf8')).toBe('1,2\n')
  const list = JSON.parse(await readFile(join(directory, 'list.json'), 'utf8')) as SessionFilePage
  expect(list.items).toContainEqual(expect.objectContaining({ name: 'input.csv', size: 8 }))
  expect(await (await call('GET', content('input.csv'))).text()).toBe('a,b\n3,4\n')
})

test('a file is made, read, read in ranges, replaced with its ETag, and never by chance', async () => {
  const made = (await (await put('results.csv', 'a,b\n1,2\n')).json()) as FileEntry
  expect(made).toMatchObject({ name: 'results.csv', kind: 'file', size: 8 })
  expect(await codeOf(await put('results.csv', 'other'))).toEqual([409, 'file_exists'])
  const whole = await call('GET', content('results.csv'))
  expect([whole.status, whole.headers.get('etag'), await whole.text()]).toEqual([200, made.etag, 'a,b\n1,2\n'])
  const head = await call('HEAD', content('/home/work/results.csv'))
  expect([head.status, head.headers.get('content-length')]).toEqual([200, '8'])
  expect((await call('GET', content('results.csv'), { headers: { 'if-none-match': made.etag ?? '' } })).status).toBe(
    304,
  )
  const part = await call('GET', content('results.csv'), { headers: { range: 'bytes=4-' } })
  expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 4-7/8', '1,2\n'])
  expect((await call('GET', content('results.csv'), { headers: { range: 'bytes=9-' } })).status).toBe(416)
  await shell('chmod 750 results.csv')
  const replaced = await put('results.csv', 'new', { 'if-match': made.etag ?? '' })
  const { etag } = (await replaced.json()) as FileEntry
  expect(etag).not.toBe(made.etag)
  expect(await codeOf(await put('results.csv', 'late', { 'if-match': made.etag ?? '' }))).toEqual([412, 'file_changed'])
  expect((await shell('stat -c %a results.csv; cat results.csv; ls -A | grep -c berth-put')).stdout).toBe('750\nnew0\n')
})

test('many bytes pass in both directions without loss, and a client that leaves makes no file', async () => {
  const bytes = randomBytes(40 * 2 ** 20)
  expect((await put('large.bin', bytes)).status).toBe(200)
  const read = Buffer.from(await (await call('GET', content('large.bin'))).arrayBuffer())
  expect(hash(read)).toBe(hash(bytes))
  const middle = await call('GET', content('large.bin'), { headers: { range: 'bytes=20000000-20999999' } })
  expect(hash(Buffer.from(await middle.arrayBuffer()))).toBe(hash(bytes.subarray(20_000_000, 21_000_000)))
  const url = new URL(content('cut.bin'), berth.url)
  const headers = { authorization: `Bearer ${token}`, 'if-none-match': '*', 'content-type': 'application/octet-stream' }
  const cut = httpRequest(url, { method: 'PUT', headers: { ...headers, 'content-length': '1000000' } })
  cut.on('error', () => undefined).write(Buffer.alloc(1000))
  await expect.poll(async () => (await shell('ls -A | grep -c berth-put')).stdout).toBe('1\n')
  cut.destroy()
  const running = async () =>
    (await owner.api.listCommands({ params: { id } })).items.filter(one => one.status === 'RUNNING')
  await expect.poll(running).toEqual([])
  expect(await codeOf(await call('GET', content('cut.bin')))).toEqual([404, 'file_not_found'])
  expect((await shell('ls -A | grep -c berth-put')).stdout).toBe('0\n')
})

test('a write that is killed changes no file and leaves none; what was left long ago goes with the next write', async () => {
  await shell(
    'echo before > kept.txt; touch -d 2020-01-01 .berth-put-0123456789abcdef .other-put; touch .berth-put-of-now',
  )
  const { etag } = (await list()).items.find(({ name }) => name === 'kept.txt') ?? {}
  const headers = {
    authorization: `Bearer ${token}`,
    'if-match': etag ?? '',
    'content-type': 'application/octet-stream',
  }
  const url = new URL(content('kept.txt'), berth.url)
  const killed = httpRequest(url, { method: 'PUT', headers: { ...headers, 'content-length': '1000' } })
  const answered = once(killed, 'response') as Promise<[IncomingMessage]>
  answered.catch(() => undefined)
  killed.write('after')
  const running = async () =>
    (await owner.api.listCommands({ params: { id } })).items.find(({ status }) => status === 'RUNNING')?.id
  await expect.poll(running).toBeDefined()
  const drafts = async () => (await shell('ls -A | grep -e -put')).stdout
  await expect.poll(drafts).toMatch(/^\.berth-put-[0-9a-f]{16}\n\.berth-put-of-now\n\.other-put\n$/)
  await owner.api.endCommand({ params: { id, commandId: (await running()) ?? '' } })
  const [{ statusCode }] = await answered
  killed.on('error', () => undefined).destroy()
  expect(statusCode).toBe(502)
  expect(await drafts()).toBe('.berth-put-of-now\n.other-put\n')
  expect((await shell('cat kept.txt')).stdout).toBe('before\n')
})

test('directories are listed in pages, with links, odd names and other things as what they are', async () => {
  await shell(
    String.raw`mkdir -p odd/sub; cd odd; touch -- -rf 'two words' $'line\nbreak' $'latin\xe9' '*' ; ln -s /etc/passwd out; ln -s nowhere lost; mkfifo pipe; printf x > run; chmod +x run; touch -d 2020-01-02T03:04:05Z run`,
  )
  const { items, next } = await list('odd')
  expect(items.map(({ name, kind }) => [name, kind])).toEqual([
    ['*', 'file'],
    ['-rf', 'file'],
    ['latin\uefe9', 'file'],
    ['line\nbreak', 'file'],
    ['lost', 'link'],
    ['out', 'link'],
    ['pipe', 'other'],
    ['run', 'file'],
    ['sub', 'directory'],
    ['two words', 'file'],
  ])
  expect(next).toBeNull()
  expect(items.find(({ name }) => name === 'run')).toMatchObject({
    size: 1,
    executable: true,
    modifiedAt: '2020-01-02T03:04:05.000Z',
  })
  const first = await list('odd', '&limit=4')
  expect([first.items.length, first.next]).toEqual([4, 'line\nbreak'])
  const second = await list('odd', `&limit=4&after=${encodeURIComponent(first.next ?? '')}`)
  expect(second.items.map(({ name }) => name)).toEqual(['lost', 'out', 'pipe', 'run'])
  for (const name of ['-rf', 'line\nbreak', 'latin\uefe9', '*'])
    expect((await call('GET', content(`odd/${name}`))).status, name).toBe(200)
  expect((await put('odd/neu\uefe9', 'x')).status).toBe(200)
  expect((await shell(String.raw`cat odd/$'neu\xe9'`)).stdout).toBe('x')
})

test('what a path leads to is decided in the session: links end there, and its user’s rights hold', async () => {
  const passwd = await (await call('GET', content('odd/out'))).text()
  expect(passwd).toBe((await shell('cat /etc/passwd')).stdout)
  const tries: [string, number, string][] = [
    ['nothing', 404, 'file_not_found'],
    ['odd/lost', 404, 'file_not_found'],
    ['odd/sub', 409, 'file_kind_refused'],
    ['odd/pipe', 409, 'file_kind_refused'],
    ['/run/berth/../../etc/shadow', 403, 'forbidden'],
  ]
  for (const [path, ...answer] of tries)
    expect([path, ...(await codeOf(await call('GET', content(path))))]).toEqual([path, ...answer])
  expect(await codeOf(await put('/etc/new-file', 'x'))).toEqual([403, 'forbidden'])
  expect(await codeOf(await put('no/such/directory', 'x'))).toEqual([404, 'file_not_found'])
  expect(await codeOf(await put('odd/sub', 'x'))).toEqual([409, 'file_kind_refused'])
  const other = await berth.user('other@example.org')
  const theirs = other.api.listSessionFiles({ params: { id } })
  await expect(theirs).rejects.toMatchObject({ code: 'session_not_found' })
  const admin = (await berth.api()).listSessionFiles({ params: { id } })
  await expect(admin).rejects.toMatchObject({ code: 'forbidden' })
})

test('a transfer ends with the sign-in that began it, and leaves no file', async () => {
  const signIn = async () => {
    const { email, password } = owner
    const { token: bearer } = await owner.api.login({ body: { email, password, kind: 'token' } })
    const headers = { authorization: `Bearer ${bearer}` }
    const signOut = async () => (await fetch(`${berth.url}/api/v1/auth/logout`, { method: 'POST', headers })).status
    return { headers, signOut }
  }
  await shell('head -c 64M /dev/zero > slow.bin')
  const [writer, reader] = [await signIn(), await signIn()]
  using write = heldRequest(berth.url + content('late.bin'), {
    method: 'PUT',
    headers: { ...writer.headers, 'content-type': 'application/octet-stream', 'if-none-match': '*' },
    length: 4,
  })
  write.send('lat')
  using read = slowReader(berth.url + content('slow.bin'), { headers: reader.headers })
  expect(await read.begun).toMatch(/^HTTP\/1.1 200/)
  const drafts = async () => (await shell('ls -A | grep -cE "berth-put-[0-9a-f]{16}$"')).stdout
  await expect.poll(drafts).toBe('1\n')
  expect(await Promise.all([writer.signOut(), reader.signOut()])).toEqual([204, 204])
  await expect.poll(drafts).toBe('0\n')
  write.send('e')
  expect([0, 502]).toContain((await write.answer).status)
  expect((await read.readOn(5)).isCut).toBe(true)
  expect(await codeOf(await call('GET', content('late.bin')))).toEqual([404, 'file_not_found'])
})

test('an admin of the domain reads no names of files of sessions in the audit log', async () => {
  expect((await put('application-for-another-job.txt', 'x')).status).toBe(200)
  const admin = await berth.api()
  const [email, password] = ['lead@example.org', 'Secret!1234']
  await admin.createUser({ body: { mustChangePassword: false, email, name: 'Lead', password, role: 'domain_admin' } })
  const { token: bearer } = await admin.login({ body: { email, password, kind: 'token' } })
  const seen = async (by: string | null) => {
    const reply = await fetch(`${berth.url}/api/v1/audit-log?target=session:${id}&action=writeSessionFile`, {
      headers: { authorization: `Bearer ${by}` },
    })
    return ((await reply.json()) as { items: { detail: { path?: string } }[] }).items[0]?.detail.path
  }
  expect(await seen(bearer)).toBeUndefined()
  expect((await admin.listAuditLog({ query: { target: `session:${id}`, limit: 1 } })).items[0]?.detail.path).toBe(
    'application-for-another-job.txt',
  )
})
