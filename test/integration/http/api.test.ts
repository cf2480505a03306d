import { writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Access, Problem, type RouteName, ROUTES, type RouteSpec } from '#manager/contract'
import { readConfig } from '../../../manager/config.ts'
import { ADMIN, startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'
import { rawBytes, rawRequest } from '../../fixtures/raw-http.ts'

let manager: TestManager
const ROLES = ['anonymous', 'user', 'domain_admin', 'superadmin'] as const
let tokens: Record<(typeof ROLES)[number], string | undefined>
beforeAll(async () => {
  manager = await startTestManager({ allowedHosts: ['berth.example.org', '10.1.2.3:8090'] })
  const user = await manager.addUser('plain@example.org')
  const admin = await manager.addUser('domain-admin@example.org', 'domain_admin')
  tokens = {
    anonymous: undefined,
    user: user.token,
    domain_admin: admin.token,
    superadmin: (await manager.signIn()).token,
  }
})
afterAll(() => manager[Symbol.asyncDispose]())

const login = () => `${manager.url}/api/v1/auth/login`

describe('every route for every role', () => {
  const MAY: Record<Access, readonly (keyof typeof tokens)[]> = {
    none: ROLES,
    user: ['user', 'domain_admin', 'superadmin'],
    domain_admin: ['domain_admin', 'superadmin'],
    superadmin: ['superadmin'],
    console: [],
  }
  const routes = Object.entries(ROUTES) as [RouteName, RouteSpec][]
  const cases = routes.flatMap(([name, route]) => ROLES.map(role => [name, role, route] as const))

  test.each(cases.filter(([name]) => name !== 'logout'))('route %s as %s', async (_name, role, route) => {
    const token = tokens[role]
    const unknown = '00000000-0000-7000-8000-000000000000'
    const url = manager.url + route.path.replace(':id', unknown).replace(/:\w+/g, 'none')
    const reply = await rawRequest(url, {
      method: route.method,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      ...(route.body ? { body: { wrong: true } } : {}),
    })
    const { code } = reply.json ?? {}
    const allowed = MAY[route.access].includes(role)
    // The answer to HEAD has no body.
    if (route.method === 'HEAD') expect([401, 403].includes(reply.status)).toBe(!allowed)
    else if (allowed) expect(['not_signed_in', 'forbidden']).not.toContain(code)
    else expect(code).toBe(role === 'anonymous' ? 'not_signed_in' : 'forbidden')
    // Whatever the outcome, no route crashes, and every failure is a problem document.
    expect(reply.status).toBeLessThan(500)
    expect(reply.headers['cache-control']).toBe('no-store')
    if (reply.status >= 400 && route.method !== 'HEAD') expect(() => Problem.parse(reply.json)).not.toThrow()
  })

  test('the OpenAPI description names exactly the routes of the contract, and the event stream', async () => {
    const { json } = await rawRequest(`${manager.url}/api/v1/openapi.json`)
    expect(json).toMatchObject({ openapi: '3.1.0' })
    const paths = json?.paths as Record<string, Record<string, { operationId?: string; requestBody?: object }>>
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId ?? ''}`,
      ),
    )
    // The document for other clients leaves out routes for the console's process.
    const told = routes.filter(([, { access }]) => access !== 'console')
    const expected = told.map(
      // The library marks the ids of HEAD operations.
      ([name, { method, path }]) =>
        `${method} ${path.replace(/:(\w+)/g, '{$1}')} ${name}${method === 'HEAD' ? '-head' : ''}`,
    )
    expect(described.toSorted()).toEqual([...expected, 'GET /api/v1/events events'].toSorted())
    for (const [, { method, path, body }] of told) {
      const operation = paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
      expect(operation?.requestBody !== undefined).toBe(body !== undefined)
    }
    const references = JSON.stringify(json).match(/#\/components\/schemas\/\w+/g) ?? []
    const schemas = Object.keys((json?.components as { schemas: object }).schemas)
    // Each reference exists, and each component is used.
    expect([...new Set(references)].map(reference => reference.split('/').at(-1)).toSorted()).toEqual(
      schemas.toSorted(),
    )
    expect(json).toMatchObject({ info: { license: { identifier: 'Apache-2.0' } }, servers: [{ url: '/' }] })
    for (const operation of Object.values(paths).flatMap(methods => Object.values(methods))) {
      const { operationId, security, responses, parameters } = operation as Described
      expect(security, operationId).toBeDefined()
      for (const status of ['403', '429', '500', '503']) {
        expect(responses[status], `${operationId} ${status}`).toMatchObject({
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        })
      }
      const takesKey = routes.some(([name, route]) => name === operationId && 'idempotencyKey' in route)
      expect(parameters?.some(({ name }) => name === 'idempotency-key') ?? false, operationId).toBe(takesKey)
    }
  })
})

interface Described {
  readonly operationId: string
  readonly security?: unknown
  readonly responses: Record<string, unknown>
  readonly parameters?: { readonly name: string }[]
}

describe('requests that another site could make a browser send', () => {
  test.each(['evil.example', 'evil.example:80', '127.0.0.1', 'localhost:1', '', 'berth.example.org.evil.example'])(
    'Host "%s" is not answered',
    async host => {
      const reply = await rawRequest(`${manager.url}/api/v1/me`, { headers: { host } })
      expect(reply.status).toBe(host === '' ? reply.status : 403)
      expect(reply.status).toBeGreaterThanOrEqual(400)
    },
  )

  test.each(['berth.example.org', 'BERTH.example.org:8443', '10.1.2.3:8090'])(
    'Host %s is allowed by the configuration',
    async host => {
      const reply = await rawRequest(`${manager.url}/healthz`, { headers: { host } })
      expect(reply.status).toBe(200)
    },
  )

  test.each(['http://evil.example', 'null', 'http://localhost:1', 'https://127.0.0.1', 'file://', 'garbage'])(
    'Origin %s is refused before anything happens',
    async origin => {
      const reply = await rawRequest(login(), { method: 'POST', headers: { origin }, body: ADMIN })
      expect(reply.json).toMatchObject({ code: 'foreign_origin' })
      expect(reply.headers['set-cookie']).toBeUndefined()
    },
  )

  test("the server's own Origin is accepted", async () => {
    const reply = await rawRequest(login(), { method: 'POST', headers: { origin: manager.url }, body: ADMIN })
    expect(reply.status).toBe(200)
  })

  test('upgrades are checked by the same rules', async () => {
    const upgrade = (headers: Record<string, string>, path = '/stream/session/x/tcpproxy') =>
      new Promise<number>((resolve, reject) => {
        const request = httpRequest(manager.url + path, {
          headers: { connection: 'Upgrade', upgrade: 'websocket', ...headers },
          agent: false,
        })
        request.on('response', reply => {
          reply.resume()
          resolve(reply.statusCode ?? 0)
        })
        request.on('upgrade', () => resolve(101))
        request.on('error', reject)
        request.end()
      })
    expect(await upgrade({ host: 'evil.example' })).toBe(403)
    expect(await upgrade({ origin: 'http://evil.example' })).toBe(403)
    expect(await upgrade({}, '/nothing/here')).toBe(404)
    // An upgrade to an unknown protocol is ignored; the request is answered normally.
    expect(await upgrade({ upgrade: 'h2c' }, '/healthz')).toBe(200)
  })
})

describe('malformed requests', () => {
  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    rawRequest(login(), { method: 'POST', headers, body })

  test.each(['content-length', 'chunked'])(
    'ten megabytes (%s) are refused with an answer, every time',
    async framing => {
      const headers = framing === 'chunked' ? { 'transfer-encoding': 'chunked' } : {}
      for (let time = 0; time < 10; time++) {
        const reply = await post(Buffer.alloc(10_000_000, 0x20), headers)
        expect(reply).toMatchObject({ status: 413, json: { code: 'body_too_large' } })
      }
    },
  )

  test.each(['{"email":', '', '[]', 'null', '"text"', '{"__proto__":{"a":1}}', '{"email":1,"extra":true}'])(
    'the body %j is refused as bad_request, in a sentence',
    async body => {
      const reply = await post(body)
      expect(reply.json).toMatchObject({ code: 'bad_request', status: 400 })
      expect((reply.json?.data as { why: string }).why).not.toBe('')
      expect(reply.text).not.toMatch(/node_modules|at \w+ \(|ZodError|FST_/)
    },
  )

  test('a body with more members than any request has is refused in a sentence, before they are looked at', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, at) => [`k${at}`, 1]))
    for (const body of [many, { environ: many }]) {
      const reply = await post(JSON.stringify(body))
      expect(reply.json).toMatchObject({ code: 'bad_request', status: 400 })
      expect(reply.text.length).toBeLessThan(1_000)
    }
  })

  test('the refusal names the wrong fields', async () => {
    const reply = await post('{"email":"a@b.c","extra":1}')
    const { fields } = reply.json?.data as { fields: { path: string }[] }
    expect(fields.map(field => field.path)).toContain('password')
  })

  test('other content types, unknown addresses, and wrong or unknown methods get problem documents', async () => {
    expect((await post('a=b', { 'content-type': 'text/plain' })).json).toMatchObject({ code: 'bad_request' })
    expect((await rawRequest(`${manager.url}/api/v1/nothing`)).json).toMatchObject({ code: 'not_found' })
    expect((await rawRequest(`${manager.url}/%zz`)).json).toMatchObject({ code: 'bad_request' })
    const wrong = await rawRequest(login(), { method: 'DELETE' })
    expect(wrong.json).toMatchObject({ code: 'method_not_allowed', status: 405 })
    expect(wrong.headers.allow).toBe('POST')
    expect(await rawBytes(manager.url, 'BREW / HTTP/1.1\r\nhost: x\r\n\r\n')).toContain('"code":"bad_request"')
    expect(await rawBytes(manager.url, 'GET /한글 HTTP/1.1\r\nhost: x\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 [^]*"code":"bad_request"[^]*percent-encoded/,
    )
    expect(await rawBytes(manager.url, 'hello\r\n\r\n')).toContain('application/problem+json')
  })

  test('malformed ids and cursors do not become internal errors', async () => {
    for (const path of [
      '/api/v1/sessions/%00',
      "/api/v1/sessions/'",
      '/api/v1/sessions?limit=0',
      '/api/v1/users?cursor=%00',
    ]) {
      const reply = await rawRequest(manager.url + path, {
        headers: { authorization: `Bearer ${String(tokens.superadmin)}` },
      })
      expect(reply.status).toBe(400)
    }
  })
})

test('a query field that a route does not have is refused, also by the event stream', async () => {
  const headers = { authorization: `Bearer ${String(tokens.superadmin)}` }
  const reply = await rawRequest(`${manager.url}/api/v1/usage?user=somebody`, { headers })
  expect(reply.json).toMatchObject({
    code: 'bad_request',
    detail: 'query: has no field "user"; it may have: userId, groupId, domain',
  })
  const stream = await rawRequest(`${manager.url}/api/v1/events?watched=1`, { headers })
  expect(stream.json).toMatchObject({
    detail: 'query: has no field "watched"; it may have: watch, directory, lastEventId',
  })
})

describe('endpoints for operators', () => {
  test('liveness and readiness', async () => {
    expect((await rawRequest(`${manager.url}/healthz`)).status).toBe(200)
    expect((await rawRequest(`${manager.url}/readyz`)).json).toEqual({ status: 'ready' })
  })

  test('metrics are for this computer, and for a superadmin through a proxy', async () => {
    const direct = await rawRequest(`${manager.url}/metrics`)
    expect(direct.text).toContain('berth_http_request_duration_seconds_bucket')
    expect(direct.text).toContain('berth_nodejs_eventloop_lag_seconds')
    expect(direct.text).toMatch(/^berth_tunnels\{kind="terminal"\} 0$/m)
    expect(direct.text).toMatch(/^# TYPE berth_tunnel_bytes_total counter$/m)
    const proxied = (token: string | undefined) =>
      rawRequest(`${manager.url}/metrics`, {
        headers: {
          'x-forwarded-for': '10.0.0.9',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
      })
    expect((await proxied(undefined)).status).toBe(401)
    expect((await proxied(tokens.user)).status).toBe(403)
    expect((await proxied(tokens.superadmin)).status).toBe(200)
  })

  test('with a token for metrics, they are for the scraper and a superadmin, and for nobody else on this computer', async () => {
    await using directory = await temporaryDirectory()
    const path = join(directory.path, 'token')
    await writeFile(path, `${'m'.repeat(40)}\n`)
    const { metricsToken } = readConfig({ BERTH_DATA: directory.path, BERTH_METRICS_TOKEN_FILE: path })
    await using guarded = await startTestManager({ metricsToken })
    const scrape = async (authorization?: string) =>
      (await rawRequest(`${guarded.url}/metrics`, { headers: authorization ? { authorization } : {} })).status
    expect(await scrape()).toBe(401)
    expect(await scrape('Bearer ')).toBe(401)
    expect(await scrape(`Bearer ${'m'.repeat(39)}`)).toBe(401)
    expect(await scrape(`Bearer ${'m'.repeat(40)}`)).toBe(200)
    expect(await scrape(`Bearer ${(await guarded.signIn()).token}`)).toBe(200)
    await writeFile(path, 'short')
    expect(() => readConfig({ BERTH_DATA: directory.path, BERTH_METRICS_TOKEN_FILE: path })).toThrow('32 characters')
  })

  test('every reply has a request id and the security headers', async () => {
    const { headers } = await rawRequest(`${manager.url}/api/v1/me`)
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    })
  })
})
