import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, type SigningKeypair } from '#manager/contract'
import { type CompatClient, compatClient, openCompat } from '../../fixtures/compat-client.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { signedApi, startTestManager, type TestManager } from '../../fixtures/manager.ts'

/** Refusals of the adapter for clients of Backend.AI, and hostile requests. */
let manager: TestManager
let admin: ApiClient
let owner: ApiClient
let keypair: SigningKeypair
let client: CompatClient
beforeAll(async () => {
  manager = await startTestManager({ allowedHosts: ['berth.example.org'], backendAiProxies: ['127.0.0.7'] })
  admin = (await manager.signIn()).api
  owner = (await manager.addUser('owner@example.org')).api
  keypair = await owner.createKeypair({ body: {} })
  client = compatClient(await openCompat(admin), keypair)
})
afterAll(() => manager[Symbol.asyncDispose]())

/** A request that comes from the address of the reverse proxy. @returns its answer as text */
async function viaProxy(port: number, path: string, headers: Record<string, string>): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.7' })
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${fields.join('')}connection: close\r\n\r\n`)
  return await text(socket)
}

const DOTFILES = '/user-config/dotfiles'
const dotfile = { path: '.vimrc', data: 'set nu', permission: '644' }

describe('a signature', () => {
  test('it is accepted once, also with another body', async () => {
    const headers = client.sign('POST', DOTFILES, { body: dotfile })
    const send = (body: object) =>
      rawRequest(`http://127.0.0.1:${client.port}${DOTFILES}`, { method: 'POST', headers, body })
    expect(await send(dotfile)).toMatchObject({ status: 200 })
    const again = await send({ ...dotfile, path: '.evil' })
    expect(again).toMatchObject({ status: 401, json: { error_code: 'signature_replayed' } })
    expect(again.json?.title).toContain('Sign every request separately')
    expect((await owner.listDotfiles()).items.map(({ path }) => path)).toEqual(['.vimrc'])
  })

  test.each([
    ['another method', { method: 'PATCH' }],
    ['another path', { path: '/folders' }],
    ['another query', { path: `${DOTFILES}?path=.vimrc` }],
  ])(
    'it is refused with %s',
    async (_what, { method = 'POST', path = DOTFILES }: { method?: string; path?: string }) => {
      const headers = client.sign('POST', DOTFILES, { body: dotfile })
      const reply = await rawRequest(`http://127.0.0.1:${client.port}${path}`, { method, headers, body: dotfile })
      expect(reply).toMatchObject({ status: 401, json: { error_code: 'signature_invalid' } })
    },
  )

  test('a clock that is 20 minutes off is told by how much, and what the time is', async () => {
    for (const minutes of [-20, 20]) {
      const reply = await client.send('GET', '/folders', { date: new Date(Date.now() + minutes * 60_000) })
      expect(reply).toMatchObject({ status: 401, json: { error_code: 'clock_skewed' } })
      expect(reply.json?.title).toMatch(/clock is 1[12]\d\d s (behind|ahead)/)
      expect(reply.json).toMatchObject({ data: { serverTime: expect.any(String) as string } })
    }
  })

  test('it works at the adapter only for what it has: other requests of the API still need the own scheme', async () => {
    const headers = client.sign('POST', '/api/v1/folders', { host: new URL(manager.url).host, body: { name: 'x' } })
    const reply = await rawRequest(`${manager.url}/api/v1/folders`, { method: 'POST', headers, body: { name: 'x' } })
    expect(reply).toMatchObject({ status: 401, json: { code: 'signature_invalid' } })
  })

  test('a keypair that was deactivated is refused with the next request', async () => {
    const other = await owner.createKeypair({ body: {} })
    const theirs = compatClient(client.port, other)
    expect((await theirs.send('GET', '/folders')).status).toBe(200)
    await owner.updateKeypair({ params: { accessKey: other.accessKey }, body: { active: false } })
    expect(await theirs.send('GET', '/folders')).toMatchObject({
      status: 401,
      json: { error_code: 'keypair_inactive' },
    })
  })
})

describe('the road of a request', () => {
  test('a wrong Host and a page of another site are refused', async () => {
    const host = 'evil.example.org'
    expect(await client.send('GET', '/folders', { host })).toMatchObject({
      status: 403,
      json: { error_code: 'forbidden' },
    })
    const headers = { origin: 'https://evil.example.org' }
    expect(await client.send('GET', '/folders', { headers })).toMatchObject({ status: 403 })
  })

  test('what an unknown proxy forwards is refused, and its signature is used up', async () => {
    const headers = client.sign('GET', '/folders')
    const forwarded = { ...headers, 'x-forwarded-for': '10.0.0.9', 'x-forwarded-proto': 'https' }
    const url = `http://127.0.0.1:${client.port}/folders`
    const reply = await rawRequest(url, { headers: forwarded })
    expect(reply).toMatchObject({ status: 403 })
    expect(reply.json?.title).toContain('BERTH_BACKEND_AI_PROXIES')
    expect(await rawRequest(url, { headers })).toMatchObject({
      status: 401,
      json: { error_code: 'signature_replayed' },
    })
  })

  test('what a known proxy forwards counts as it came: over https it is accepted, over http not', async () => {
    const host = 'berth.example.org'
    const from = (proto: string, headers: Record<string, string>) =>
      viaProxy(client.port, '/folders', { ...headers, 'x-forwarded-for': '10.0.0.9', 'x-forwarded-proto': proto })
    expect(await from('https', client.sign('GET', '/folders', { host }))).toContain(' 200 OK')
    expect(await from('http', client.sign('GET', '/folders', { host }))).toContain(
      'Clients of Backend.AI are answered over https only',
    )
  })

  test('in web mode too, and a password is not even read', async () => {
    const reply = await rawRequest(`http://127.0.0.1:${client.port}/server/login`, {
      method: 'POST',
      headers: { 'x-forwarded-for': '10.0.0.9' },
      body: { username: 'owner@example.org', password: 'Their-own-pass-1' },
    })
    expect(reply).toMatchObject({ status: 403 })
  })

  test('nobody comes without credentials, and an unknown address is named', async () => {
    const url = `http://127.0.0.1:${client.port}`
    for (const path of ['/folders', '/func/folders', '/manager/announcement'])
      expect(await rawRequest(url + path), path).toMatchObject({ status: 401 })
    const reply = await client.send('POST', '/services', { body: {} })
    expect(reply).toMatchObject({ status: 501, json: { title: 'Berth has no counterpart of POST /services.' } })
  })

  test('in web mode, a token that nobody was given is refused before anything of the request is read', async () => {
    const headers = { 'x-backendai-sessionid': `berth_${'x'.repeat(43)}` }
    const url = `http://127.0.0.1:${client.port}/func`
    const refused = { status: 401, json: { error_code: 'not_signed_in' } }
    expect(await rawRequest(`${url}/auth`, { headers })).toMatchObject(refused)
    const query = { method: 'POST', headers, body: 'no JSON' }
    expect(await rawRequest(`${url}/admin/gql`, query)).toMatchObject(refused)
  })

  test('the audit log says by which road a change came', async () => {
    await client.send('POST', '/folders', { body: { name: 'logged' } })
    const { items } = await admin.listAuditLog({ query: { action: 'createFolder', limit: 1 } })
    expect(items[0]).toMatchObject({
      actor: 'owner@example.org',
      detail: { road: 'backend.ai', keypair: keypair.accessKey },
    })
  })
})

describe('a hostile request', () => {
  test('a body over the limit is refused', async () => {
    const reply = await client.send('POST', DOTFILES, { body: { ...dotfile, data: 'x'.repeat(1_100_000) } })
    expect(reply).toMatchObject({ status: 413 })
  })

  test('a body with too many parts, or no JSON, is refused', async () => {
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`k${at}`, at])))
    for (const body of [many, '{"path":', '[1]', '"x"'])
      expect(await client.send('POST', DOTFILES, { body }), body.slice(0, 10)).toMatchObject({ status: 400 })
  })

  const deep = (levels: number) =>
    `query { compute_session_list(limit: 1, offset: 0) ${'{ items { containers '.repeat(levels)} { id } ${'} }'.repeat(levels)} }`
  test.each([
    [
      'aliases',
      `query { ${Array.from({ length: 200 }, (_, at) => `a${at}: images { name }`).join(' ')} }`,
      'at most 4',
    ],
    [
      'fields',
      `query { images { ${Array.from({ length: 400 }, (_, at) => `f${at}: name`).join(' ')} } }`,
      '300 fields',
    ],
    ['depth', deep(8), 'levels deep'],
    [
      'fragments',
      'query { ...a } fragment a on Query { ...b ...b ...b } fragment b on Query { ...a }',
      'contains itself',
    ],
    [
      'powers',
      `query { images { ...f0 } } ${Array.from({ length: 5 }, (_, at) => `fragment f${at} on Image { ${`...f${at + 1} `.repeat(20)} }`).join(' ')} fragment f5 on Image { name }`,
      '300 fields',
    ],
    [
      'fragments that nothing uses',
      `query { images { name } } fragment a on Image { ${'name '.repeat(900)} }`,
      'does not use',
    ],
    [
      'fragments of one name',
      `query { images { ...a } } fragment a on Image { ${'name '.repeat(900)} } fragment a on Image { name }`,
      'does not use',
    ],
    ['introspection', 'query { __schema { types { name } } }', 'Introspection is off'],
    ['two operations', 'query a { images { name } } query b { images { name } }', 'one operation'],
    ['an unknown field', 'query { images { secret } }', 'secret'],
    ['no query', 'this is no query', 'Syntax Error'],
    ['a long query', `query { images { ${'name '.repeat(5_000)} } }`, 'token'],
  ])('GraphQL: %s', async (_what, query, said) => {
    const reply = await client.send('POST', '/admin/gql', { body: { query, variables: {} } })
    expect(reply).toMatchObject({ status: 400, json: { error_code: 'bad_request' } })
    expect(reply.json?.title).toContain(said)
  })

  test('GraphQL gives nobody more than the API: lists of administrators are refused, and secret keys are empty', async () => {
    const reply = await client.send('POST', '/admin/gql', { body: { query: 'query { agents { id } }' } })
    expect(reply).toMatchObject({ status: 200, json: { errors: [{ extensions: { code: 'forbidden' } }] } })
    const list = await client.gql(
      'query { keypair_list(limit: 10, offset: 0) { items { access_key secret_key } total_count } }',
    )
    expect(JSON.stringify(list)).not.toContain(keypair.secretKey)
    expect(list).toMatchObject({ keypair_list: { items: [{ secret_key: '' }, { secret_key: '' }].slice(0, 2) } })
  })

  test('a token of an upload is none of another text', async () => {
    for (const token of ['x', 'a'.repeat(500), '']) {
      const reply = await rawRequest(`http://127.0.0.1:${client.port}/storage/upload?token=${token}`, {
        method: 'PATCH',
        body: 'x',
      })
      expect(reply).toMatchObject({ status: 404, json: { error_code: 'upload_not_found' } })
    }
  })
})

describe('the switch', () => {
  test('off by default: a manager without the setting has no such port, and a keypair cannot set it', async () => {
    await using other = await startTestManager()
    const { api } = await other.signIn()
    expect((await api.getSettings()).backendAiPort).toBeNull()
    const signed = signedApi(other.url, await api.createKeypair({ body: {} }))
    await expect(signed.updateSettings({ body: { backendAiPort: 8490 } })).rejects.toMatchObject({ code: 'forbidden' })
    await admin.updateSettings({ body: { backendAiPort: null } })
    await expect(client.send('GET', '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await admin.updateSettings({ body: { backendAiPort: client.port } })
    expect(await client.send('GET', '/')).toMatchObject({ status: 200 })
  })

  test('a port that is taken is refused, and the one before stays', async () => {
    const taken = Number(new URL(manager.url).port)
    await expect(admin.updateSettings({ body: { backendAiPort: taken } })).rejects.toMatchObject({
      code: 'bad_request',
    })
    expect(await client.send('GET', '/')).toMatchObject({ status: 200 })
  })
})
