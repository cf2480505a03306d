import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AppError, because } from '#manager/contract'
import { createMemoryCredentials } from '../credentials/credential-store.ts'
import { openAccount, type Account } from './account.ts'
import { forwardApi } from './forward-api.ts'
import { createConsoleHandler } from './serve-console.ts'

const USER = '01900000-0000-7000-8000-000000000001'
const ME = { user: { id: USER, email: 'a@b.c' }, expiresAt: '2030-01-01T00:00:00Z' }
const nothing = () => Promise.resolve()
let dir: string
let root: string

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-console-'))
  root = path.join(dir, 'renderer')
  await mkdir(path.join(root, 'assets'), { recursive: true })
  await writeFile(path.join(root, 'index.html'), '<title>Berth</title>')
  await writeFile(path.join(root, 'assets/app.js'), 'export {}')
  await writeFile(path.join(dir, 'secret.txt'), 'secret')
  await symlink(path.join(dir, 'secret.txt'), path.join(root, 'assets/link.txt'))
})
afterEach(() => rm(dir, { recursive: true }))

const noAccount = () => Promise.reject(new Error('not asked'))
const handlerOf = (account: () => Promise<Account> = noAccount, untilSleep = new AbortController().signal) =>
  createConsoleHandler({
    root,
    account,
    fetch,
    untilSleep: () => untilSleep,
    reach: { failed: () => undefined, answered: () => undefined },
    onUnexpected: (_where, error) => expect(error).toBeUndefined(),
  })
const get = (url: string) => handlerOf()(new Request(url))

describe('files of the page', () => {
  test('the page and its assets are served with a policy that lets only our own scripts run', async () => {
    const page = await get('berth://console/')
    expect(await page.text()).toContain('Berth')
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; script-src 'self';")
    expect(policy).not.toContain('unsafe-eval')
    const script = await get('berth://console/assets/app.js')
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(script.headers.get('x-content-type-options')).toBe('nosniff')
  })

  test.each([
    ['climbing', '/../secret.txt'],
    ['encoded climbing', '/%2e%2e/secret.txt'],
    ['encoded slash', '/assets%2f..%2f..%2fsecret.txt'],
    ['double encoding', '/%252e%252e/secret.txt'],
    ['backslash', '/..%5csecret.txt'],
    ['symbolic link to the outside', '/assets/link.txt'],
    ['NUL', '/index.html%00.js'],
    ['a folder', '/assets'],
    ['broken encoding', '/%E0%A4%A'],
    ['an absolute path', '//etc/passwd'],
  ])('%s is not found', async (_what, pathname) => {
    const answer = await get(`berth://console${pathname}`)
    expect(answer.status).toBe(404)
    expect(await answer.text()).not.toContain('secret"')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('another host of the scheme and a foreign origin are refused', async () => {
    expect((await get('berth://other/')).status).toBe(404)
    const foreign = new Request('berth://console/api/v1/me', { headers: { 'x-other': '1' } })
    Object.defineProperty(foreign, 'headers', { value: new Headers([['origin', 'https://evil.example']]) })
    expect((await handlerOf()(foreign)).status).toBe(403)
  })
})

interface Manager extends AsyncDisposable {
  readonly url: string
  readonly seen: { url: string; headers: IncomingMessage['headers']; body: string }[]
}

async function startManager(answer: (req: IncomingMessage, res: ServerResponse) => void): Promise<Manager> {
  const seen: Manager['seen'] = []
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      seen.push({ url: req.url ?? '', headers: req.headers, body: Buffer.concat(chunks).toString() })
      answer(req, res)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const json = (res: ServerResponse, body: unknown, headers = {}) =>
  res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

describe('requests to the manager', () => {
  test('the sign-in requests a token and keeps it; the page sees neither token nor cookie', async () => {
    await using manager = await startManager((req, res) =>
      json(res, req.url === '/api/v1/auth/login' ? { ...ME, token: 'secret-token' } : ME, { 'set-cookie': 'a=b' }),
    )
    const credentials = createMemoryCredentials()
    const account = await openAccount({
      endpoint: manager.url,
      credentials,
      fetch,
      onUserChanged: nothing,
      onSignedInLate: () => undefined,
      onSignedInAgain: nothing,
    })
    const handle = handlerOf(() => Promise.resolve(account))
    const body = JSON.stringify({ email: 'a@b.c', password: 'p', kind: 'browser' })
    const signedIn = await handle(new Request('berth://console/api/v1/auth/login', { method: 'POST', body }))
    expect(signedIn.headers.get('set-cookie')).toBeNull()
    expect(await signedIn.text()).not.toContain('secret-token')
    expect(JSON.parse(manager.seen[0]!.body)).toMatchObject({ kind: 'token', email: 'a@b.c' })
    expect(await credentials.get(manager.url)).toBe('secret-token')

    const headers = { cookie: 'stolen=1', authorization: 'Bearer forged', 'last-event-id': '7' }
    const me = new Request('berth://console/api/v1/me?x=1', { headers })
    await handle(me)
    expect(manager.seen[1]).toMatchObject({
      url: '/api/v1/me?x=1',
      headers: { authorization: 'Bearer secret-token', 'last-event-id': '7' },
    })
    expect(manager.seen[1]!.headers.cookie).toBeUndefined()
  })

  test('an answer that a hostile server made a page is a document without rights', async () => {
    await using manager = await startManager((_req, res) =>
      res.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': 'script-src *' }).end('<script>'),
    )
    const account = await openAccount({
      endpoint: manager.url,
      credentials: createMemoryCredentials(),
      fetch,
      onUserChanged: nothing,
      onSignedInLate: () => undefined,
      onSignedInAgain: nothing,
    })
    const answer = await handlerOf(() => Promise.resolve(account))(new Request('berth://console/api/v1/me'))
    expect(answer.headers.get('content-type')).toBe('text/html')
    expect(answer.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'; frame-ancestors 'none'")
  })

  test('events arrive one by one, and a closed page ends the stream at the manager', async () => {
    const { promise: gone, resolve: onGone } = Promise.withResolvers<undefined>()
    await using manager = await startManager((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n')
      res.on('close', () => onGone(undefined))
    })
    const account = await openAccount({
      endpoint: manager.url,
      credentials: createMemoryCredentials(),
      fetch,
      onUserChanged: nothing,
      onSignedInLate: () => undefined,
      onSignedInAgain: nothing,
    })
    const abort = new AbortController()
    const request = new Request('berth://console/api/v1/events', { signal: abort.signal })
    const reply = await handlerOf(() => Promise.resolve(account))(request)
    const first = await reply.body!.getReader().read()
    expect(new TextDecoder().decode(first.value)).toBe('data: one\n\n')
    abort.abort()
    await gone
  })

  test('a sleep of the computer ends uploads and streams, which the page takes up again, and nothing else', async () => {
    const asked: string[] = []
    await using manager = await startManager(req => void asked.push(req.url ?? ''))
    const credentials = createMemoryCredentials()
    const account = await openAccount({
      endpoint: manager.url,
      credentials,
      fetch,
      onUserChanged: nothing,
      onSignedInLate: () => undefined,
      onSignedInAgain: nothing,
    })
    const slept = new AbortController()
    const handle = handlerOf(() => Promise.resolve(account), slept.signal)
    const closed = new AbortController()
    const ask = (name: string, headers: Record<string, string>) =>
      handle(
        new Request(`berth://console/api/v1/${name}`, { method: 'PATCH', body: 'x', headers, signal: closed.signal }),
      )
    const upload = ask('upload', { 'upload-offset': '0' })
    const stream = ask('events', { accept: 'text/event-stream' })
    let isAnswered = false
    const other = ask('sessions', {}).finally(() => (isAnswered = true))
    await expect.poll(() => asked.toSorted()).toEqual(['/api/v1/events', '/api/v1/sessions', '/api/v1/upload'])
    slept.abort(new Error('slept'))
    expect([(await upload).status, (await stream).status]).toEqual([503, 503])
    expect(isAnswered).toBe(false)
    closed.abort()
    await other.catch(() => undefined)
  })

  test('a manager that does not answer is a coded problem', async () => {
    const account = await openAccount({
      endpoint: 'http://127.0.0.1:1',
      credentials: createMemoryCredentials(),
      fetch,
      onUserChanged: nothing,
      onSignedInLate: () => undefined,
      onSignedInAgain: nothing,
    })
    const reply = await handlerOf(() => Promise.resolve(account))(new Request('berth://console/api/v1/me'))
    expect(reply.status).toBe(503)
    expect(await reply.json()).toMatchObject({ code: 'unavailable' })
  })

  test('a changed certificate is told with what to do about it, and not with the advice to look whether Berth runs', async () => {
    const values = { server: 'berth.example', known: '07:81', now: '6B:BA' }
    const changed = new AppError('unavailable', because('certificate_changed', values))
    const account = await openAccount({
      endpoint: 'https://berth.example',
      credentials: createMemoryCredentials(),
      fetch,
      onUserChanged: nothing,
      onSignedInLate: () => undefined,
      onSignedInAgain: nothing,
    })
    const told: unknown[] = []
    const reply = await forwardApi(new Request('berth://console/api/v1/events'), {
      account,
      fetch: () => Promise.reject(changed),
      untilSleep: () => new AbortController().signal,
      reach: { failed: error => told.push(error), answered: () => undefined },
    })
    expect(told).toEqual([changed])
    expect(await reply.json()).toMatchObject({ data: { cause: 'certificate_changed', whySaysNext: true } })
  })

  test('the ticket of the embedded stack signs the first admin in without the page', async () => {
    await using manager = await startManager((_req, res) => json(res, { ...ME, token: 'from-ticket' }))
    const account = await openAccount({
      endpoint: manager.url,
      ticket: 'ticket-of-the-first-start',
      credentials: createMemoryCredentials(),
      fetch,
      onUserChanged: nothing,
      onSignedInLate: () => undefined,
      onSignedInAgain: nothing,
    })
    expect(await account.headers()).toEqual({ authorization: 'Bearer from-ticket' })
  })
})
