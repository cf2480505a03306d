import { createHash, createHmac, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { defined } from '#base/defined'
import {
  EMPTY_BODY_HASH,
  signRequest,
  type SigningKeypair,
  stringToSign,
  type UserChange,
  UserId,
} from '#manager/contract'
import { rawRequest, type RawReply } from '../../fixtures/raw-http.ts'
import { signedApi, startTestManager, type TestManager, AS_CONSOLE } from '../../fixtures/manager.ts'

let manager: TestManager
let keypair: SigningKeypair
beforeAll(async () => {
  manager = await startTestManager({ allowedHosts: ['berth.example.org'] })
  keypair = await (await manager.addUser('script@example.org')).api.createKeypair({ body: {} })
})
afterAll(() => manager[Symbol.asyncDispose]())

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex')
type Parts = { method: string; path: string; body: string; date: Date; nonce: string; host: string }

/** An independent implementation, so that the code is not only tested against itself. */
function sign(who: SigningKeypair, { method, path, body, date, nonce, host }: Parts): Record<string, string> {
  const [time, hash] = [date.toISOString(), sha256(body)]
  const lines = ['Berth-HMAC-SHA256', method, path, host, time, nonce, hash].join('\n')
  const signature = createHmac('sha256', who.secretKey).update(lines).digest('hex')
  return {
    authorization: `Berth-HMAC-SHA256 Credential=${who.accessKey}, Nonce=${nonce}, Signature=${signature}`,
    'x-berth-date': time,
    'x-berth-content-sha256': hash,
  }
}

const parts = (change: Partial<Parts> = {}): Parts => ({
  method: 'GET',
  path: '/api/v1/me',
  body: '',
  date: new Date(),
  nonce: randomBytes(16).toString('hex'),
  host: new URL(manager.url).host,
  ...change,
})

/** Sends `sent`, signed as if it were `signed`. */
function send(sent: Parts, signed: Parts = sent, who = keypair): Promise<RawReply> {
  return rawRequest(manager.url + sent.path, {
    method: sent.method,
    headers: { ...sign(who, signed), host: sent.host },
    ...(sent.body === '' ? {} : { body: sent.body }),
  })
}

test.each<[string, UserChange]>([
  ['got a higher role', { role: 'superadmin' }],
  ['came into another domain', { domain: 'theirs' }],
])('a keypair from before its owner %s has no new rights', async (_what, change) => {
  const { api } = await manager.signIn()
  if (change.domain !== undefined) await api.createDomain({ body: { name: change.domain } })
  const owner = await manager.addUser(`${Object.keys(change).join()}@example.org`)
  const old = await owner.api.createKeypair({ body: {} })
  await api.updateUser({ params: { id: UserId.parse(owner.id) }, body: change })
  await expect(signedApi(manager.url, old).me()).rejects.toMatchObject({ code: 'keypair_inactive' })
})

describe('a request with a signature of Berth', () => {
  const template = { method: 'PUT', path: '/api/v1/session-templates/nightly', body: '{"image":"a/b:1"}' } as const
  test('the request acts as the user of its keypair, needs no cookie, and both implementations agree', async () => {
    expect((await send(parts())).json).toMatchObject({ user: { email: 'script@example.org' } })
    const made = await send(parts(template))
    expect(made).toMatchObject({ status: 200, json: { name: 'nightly' } })
    const api = signedApi(manager.url, keypair)
    const params = { name: 'weekly' }
    await api.saveSessionTemplate({ params, body: { image: 'a/b:1' } })
    expect((await api.listSessionTemplates()).items.map(({ name }) => name)).toEqual(['nightly', 'weekly'])
    await api.deleteSessionTemplate({ params })
    await expect(api.logout()).rejects.toMatchObject({ code: 'bad_request' })
    await expect(api.listUsers({ query: {} })).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('the signature depends on the key, date and nonce', () => {
    const text = stringToSign({
      method: 'post',
      target: '/api/v1/sessions?x=1',
      host: 'Berth.example.org:8090',
      date: '2026-01-31T12:00:00.000Z',
      nonce: '0123456789abcdef',
      bodyHash: EMPTY_BODY_HASH,
    })
    expect(text).toBe(
      `Berth-HMAC-SHA256\nPOST\n/api/v1/sessions?x=1\nberth.example.org:8090\n2026-01-31T12:00:00.000Z\n0123456789abcdef\n${EMPTY_BODY_HASH}`,
    )
  })

  const change = { method: 'POST', path: '/api/v1/keypairs', body: '{"active":false}' } as const
  test.each<[string, Partial<Parts>]>([
    ['method', { method: 'GET', body: '' }],
    ['path', { path: '/api/v1/keypairs?mine=true' }],
    ['host', { host: 'berth.example.org' }],
    ['body', { body: '{"active":true}' }],
    ['body, cut off', { body: '{"active":false' }],
    ['nonce', { nonce: 'b'.repeat(32) }],
    ['date', { date: new Date(Date.now() - 1000) }],
  ])('a request with another %s than was signed is refused, and changes nothing', async (_what, wrong) => {
    const signed = parts({ ...change, ...(wrong.method ? { body: '' } : {}) })
    const before = (await signedApi(manager.url, keypair).listKeypairs({ query: {} })).items.length
    const headers = sign(keypair, signed)
    const sent = { ...signed, ...wrong }
    if (wrong.nonce) headers.authorization = headers.authorization?.replace(signed.nonce, wrong.nonce) ?? ''
    if (wrong.date) headers['x-berth-date'] = wrong.date.toISOString()
    const reply = await rawRequest(manager.url + sent.path, {
      method: sent.method,
      headers: { ...headers, host: sent.host },
      ...(sent.body === '' ? {} : { body: sent.body }),
    })
    expect(reply).toMatchObject({ status: 401, json: { code: 'signature_invalid' } })
    expect((await signedApi(manager.url, keypair).listKeypairs({ query: {} })).items).toHaveLength(before)
  })

  test('a header with the hash of another body is refused', async () => {
    const body = '{"active":true}'
    const headers = { ...sign(keypair, parts(change)), 'x-berth-content-sha256': sha256(body) }
    const reply = await rawRequest(`${manager.url}/api/v1/keypairs`, { method: 'POST', headers, body })
    expect(reply.json).toMatchObject({ code: 'signature_invalid' })
    const none = await rawRequest(`${manager.url}/api/v1/me`, { headers: sign(keypair, parts({ body: 'something' })) })
    expect(none.json).toMatchObject({ code: 'signature_invalid' })
  })

  test('a signed request is accepted once', async () => {
    const once = parts()
    expect((await send(once)).status).toBe(200)
    expect((await send(once)).json).toMatchObject({ code: 'signature_replayed', status: 401 })
    const race = parts()
    const codes = (await Promise.all(Array.from({ length: 8 }, () => send(race)))).map(reply => reply.status)
    expect(codes.filter(code => code === 200)).toHaveLength(1)
  })

  test.each([-16, 16])(
    'a request dated %i minutes from now is refused, with the difference of the clocks',
    async minutes => {
      const reply = await send(parts({ date: new Date(Date.now() + minutes * 60_000) }))
      expect(reply.json).toMatchObject({ code: 'clock_skewed', status: 401 })
      const { skewSeconds } = reply.json?.data as { skewSeconds: number }
      expect(Math.abs(skewSeconds - minutes * 60)).toBeLessThan(60)
      expect((await send(parts({ date: new Date(Date.now() + Math.sign(minutes) * 14 * 60_000) }))).status).toBe(200)
    },
  )

  test('only a caller who knows the secret learns that the keypair or account is inactive', async () => {
    const other = await manager.addUser('inactive@example.org')
    const theirs = await other.api.createKeypair({ body: {} })
    const forged = { accessKey: theirs.accessKey, secretKey: 'x'.repeat(40) }
    const codeOf = async (who: SigningKeypair) => (await send(parts(), parts(), who)).json?.code
    const unknown = { accessKey: 'AKIA' + 'A'.repeat(16), secretKey: theirs.secretKey }
    expect(await Promise.all([codeOf(forged), codeOf(unknown)])).toEqual(['signature_invalid', 'signature_invalid'])
    await other.api.updateKeypair({ params: theirs, body: { active: false } })
    const now = parts()
    expect((await send(now, now, theirs)).json).toMatchObject({ code: 'keypair_inactive' })
    expect((await send(now, now, forged)).json).toMatchObject({ code: 'signature_invalid' })
    await other.api.updateKeypair({ params: theirs, body: { active: true } })
    const admin = (await manager.signIn()).api
    await admin.updateUser({ params: { id: other.id }, body: { active: false } })
    const later = parts()
    expect((await send(later, later, theirs)).json).toMatchObject({ code: 'user_inactive' })
  })

  test('a signed request has the same size limit as others, whole or in chunks', async () => {
    const body = JSON.stringify({ image: 'a/b:1', filler: 'x'.repeat(2 ** 20) })
    const large = await send(parts({ ...template, body })).catch((error: unknown) => error as NodeJS.ErrnoException)
    if ('code' in large) expect(['ECONNRESET', 'EPIPE']).toContain(large.code)
    else expect(large).toMatchObject({ json: { code: 'body_too_large' } })
    const chunked = async (sent: string, signed: string) => {
      const headers = Object.entries(sign(keypair, parts({ ...template, body: signed })))
      const head = [
        `${template.method} ${template.path} HTTP/1.1`,
        `host: ${new URL(manager.url).host}`,
        'connection: close',
      ]
      head.push('transfer-encoding: chunked', 'content-type: application/json')
      const pieces = sent.match(/[^]{1,5}/g) ?? []
      const chunks = [...pieces, ''].map(piece => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')
      const text = `${[...head, ...headers.map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n\r\n${chunks}`
      return await exchange(text)
    }
    expect(await chunked(template.body, template.body)).toContain('200 OK')
    expect(await chunked('{"image":"c/d:2"}', template.body)).toContain('signature_invalid')
  })

  test.each([
    'Berth-HMAC-SHA256',
    'Berth-HMAC-SHA256 x',
    'BackendAI x',
    'BackendAI signMethod=HMAC-SHA1, credential=a:b',
  ])('the header "%s" is refused as malformed, and a cookie beside it does not help', async authorization => {
    const reply = await rawRequest(`${manager.url}/api/v1/me`, { headers: { authorization, cookie: 'berth_1=x' } })
    expect(reply.status).toBe(401)
  })

  test('a request with another body than the signed one does no harm on a route that reads no body', async () => {
    const uncaught = vi.fn()
    process.on('uncaughtException', uncaught)
    try {
      const head = (method: string) => {
        const signed = Object.entries(sign(keypair, parts({ method, body: 'signed' })))
        return `${method} /api/v1/me HTTP/1.1\r\nhost: ${new URL(manager.url).host}\r\nconnection: close\r\n${signed
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('')}`
      }
      // The body of a GET is not read, so the answer does not wait for its check.
      await exchange(`${head('GET')}content-length: 4\r\n\r\nsent`)
      await exchange(`${head('GET')}transfer-encoding: chunked\r\n\r\n4\r\nsent\r\n0\r\n\r\n`)
      expect((await send(parts())).status).toBe(200)
      expect(uncaught).not.toHaveBeenCalled()
    } finally {
      process.off('uncaughtException', uncaught)
    }
  })
})

function exchange(text: string): Promise<string> {
  const { hostname, port } = new URL(manager.url)
  return new Promise((resolve, reject) => {
    let reply = ''
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(text))
    socket.setEncoding('utf8')
    socket.on('data', (piece: string) => (reply += piece))
    socket.on('close', () => resolve(reply))
    socket.on('error', reject)
  })
}

describe('a request with a signature of Backend.AI', () => {
  /** Signs like clients of the original system. */
  function original(
    options: { method?: string; path?: string; date?: string; day?: string; type?: string; who?: SigningKeypair } = {},
  ) {
    const { method = 'GET', path = '/api/v1/me', who = keypair, type } = options
    const date = options.date ?? new Date().toISOString()
    const day = options.day ?? new Date().toISOString().slice(0, 10).replaceAll('-', '')
    const { host } = new URL(manager.url)
    const mime = type?.split(';')[0] ?? 'application/octet-stream'
    const version = 'v6.20200815'
    const text = `${method}\n${path}\n${date}\nhost:${host}\ncontent-type:${mime}\nx-backendai-version:${version}\n${EMPTY_BODY_HASH}`
    const key = createHmac('sha256', createHmac('sha256', who.secretKey).update(day).digest()).update(host).digest()
    const signature = createHmac('sha256', key).update(text).digest('hex')
    return {
      authorization: `BackendAI signMethod=HMAC-SHA256, credential=${who.accessKey}:${signature}`,
      'x-backendai-date': date,
      'x-backendai-version': version,
      ...defined({ 'content-type': type }),
    }
  }
  const get = (headers: Record<string, string>, path = '/api/v1/me') => rawRequest(manager.url + path, { headers })

  test('the request reads what its user may read, in every form of date and content type', async () => {
    const rfc = new Date().toUTCString()
    const naive = new Date().toISOString().slice(0, 19)
    expect((await get(original())).json).toMatchObject({ user: { email: 'script@example.org' } })
    expect((await get(original({ type: 'text/plain; charset=utf-8' }))).status).toBe(200)
    expect((await get(original({ date: naive }))).status).toBe(200)
    const { 'x-backendai-date': date, ...rest } = original({ date: rfc })
    expect((await get({ ...rest, date })).status).toBe(200)
    const path = '/api/v1/keypairs?limit=2'
    expect((await get(original({ path }), path)).status).toBe(200)
    expect((await get(original({ path }), '/api/v1/keypairs?limit=3')).json).toMatchObject({
      code: 'signature_invalid',
    })
  })

  test('a request is accepted once, also when several copies arrive at the same time', async () => {
    const once = original()
    expect((await get(once)).status).toBe(200)
    expect((await get(once)).json).toMatchObject({ code: 'signature_replayed', status: 401 })
    const race = original()
    const statuses = (await Promise.all(Array.from({ length: 6 }, () => get(race)))).map(reply => reply.status)
    expect(statuses.filter(status => status === 200)).toHaveLength(1)
  })

  test('the request can change nothing, because the signature does not cover the body', async () => {
    const headers = original({ method: 'POST', path: '/api/v1/keypairs', type: 'application/json' })
    const reply = await rawRequest(`${manager.url}/api/v1/keypairs`, { method: 'POST', headers, body: '{}' })
    expect(reply.json).toMatchObject({ code: 'signature_invalid' })
    const overridden = { ...original(), 'x-method-override': 'DELETE' }
    expect((await get(overridden)).status).toBe(200)
  })

  test('the request is refused without TLS from another computer', async () => {
    const from = (more: Record<string, string>) =>
      get({ ...original(), ...AS_CONSOLE, 'x-forwarded-for': '192.0.2.7', ...more })
    expect((await from({})).json).toMatchObject({ code: 'signature_invalid' })
    expect((await from({ 'x-forwarded-proto': 'https' })).status).toBe(200)
  })

  test('an old date, a wrong key, and a missing version are refused', async () => {
    const old = new Date(Date.now() - 16 * 60_000).toISOString()
    const day = old.slice(0, 10).replaceAll('-', '')
    expect((await get(original({ date: old, day }))).json).toMatchObject({ code: 'clock_skewed' })
    expect((await get(original({ who: { ...keypair, secretKey: 'no' } }))).json).toMatchObject({
      code: 'signature_invalid',
    })
    const { 'x-backendai-version': _, ...rest } = original()
    expect((await get(rest)).json).toMatchObject({ code: 'signature_invalid' })
  })

  test('a signed upgrade opens tunnels, and reports a missing session or app', async () => {
    const path = '/stream/session/00000000-0000-7000-8000-000000000000/tcpproxy?app=x'
    const upgrade = (headers: Record<string, string>) =>
      exchange(
        [
          `GET ${path} HTTP/1.1`,
          `host: ${new URL(manager.url).host}`,
          'connection: Upgrade',
          'upgrade: websocket',
          'sec-websocket-version: 13',
          'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
          ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
          '\r\n',
        ].join('\r\n'),
      )
    expect(await upgrade(original({ path }))).toContain('session_not_found')
    expect(await upgrade(original({ path, who: { ...keypair, secretKey: 'no' } }))).toContain('signature_invalid')
    expect(await upgrade(sign(keypair, parts({ path })))).toContain('session_not_found')
  })
})

test('the signer uses only web standards', async () => {
  const url = `${manager.url}/api/v1/keypairs?search=it's`
  const headers = await signRequest({ method: 'GET', url }, keypair)
  const reply = await fetch(url, { headers })
  expect(reply.status).toBe(200)
})
