import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type LocalCode, LOCAL_SOCKET_HEADER, LOCAL_SOCKETS } from '#proxy/contract'
import { type Cli, createCli, MAIN } from '../../fixtures/cli.ts'
import { ask, signedIn, startWebConsole } from '../../fixtures/web-console.ts'
import { type StandIn } from '../../fixtures/proxy-stand-in.ts'

/** `berth local`: a browser of any user of the console's computer proves that it runs there (ADR 63). */
const run = promisify(execFile)
const USER = 12_345
const isRoot = process.getuid?.() === 0
const stack = new AsyncDisposableStack()
let own: AsyncDisposableStack | undefined
let cli: Cli
beforeAll(async () => {
  cli = stack.use(await createCli())
})
afterEach(() => own?.disposeAsync())
afterAll(() => stack.disposeAsync())

/** Runs a program as another user of this computer, who can read the sources and run Node. */
const asOther = async (command: string, ...args: string[]) =>
  run('setpriv', [`--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', command, ...args])

async function setUp() {
  own = new AsyncDisposableStack()
  const { web, manager } = await startWebConsole(own, { localProof: 'required' })
  const directory = `/tmp/berth-local-${web.port}`
  return { web, manager, directory, browser: browserAt(web.port, manager) }
}

/** A signed-in browser; `more`: headers of its requests. */
function browserAt(port: number, manager: { readonly originSecret: string }, more: Record<string, string> = {}) {
  const headers = { ...signedIn(manager, port), 'user-agent': 'Firefox', ...more }
  return async (path: string, args: unknown[] = []) => {
    const answer = await ask(port, path, { method: 'POST', headers, body: JSON.stringify(args) })
    return JSON.parse(answer.body) as { value?: unknown; code?: string }
  }
}
/** The same browser, started by another user. */
function othersBrowserAt(port: number, manager: StandIn) {
  return async (path: string, args: unknown[] = [], more: Record<string, string> = {}) => {
    const fields = Object.entries({ ...signedIn(manager, port), ...more }).flatMap(([name, value]) => [
      '-H',
      `${name}: ${value}`,
    ])
    const url = `http://localhost:${port}${path}`
    const { stdout } = await asOther(
      'curl',
      '-sS',
      '-m',
      '20',
      '-X',
      'POST',
      ...fields,
      '-d',
      JSON.stringify(args),
      url,
    )
    return JSON.parse(stdout) as { value?: unknown; error?: { detail?: object } }
  }
}
const codeOf = (reply: { value?: unknown }) => reply.value as LocalCode
const local = (port: number, code: string, ...more: string[]) =>
  cli.run(['local', code, '--port', String(port), '--yes', ...more])

test('the command of the console’s own account proves all, once, and only for the browser that shows the code', async () => {
  const { web, manager, directory, browser } = await setUp()
  const asked = codeOf(await browser('/host/local-code'))
  expect(asked).toMatchObject({ port: web.port, validSeconds: 300 })
  expect((await stat(join(directory, 'account'))).mode & 0o777).toBe(0o700)
  expect(await browser('/host/local-proof', [asked.code])).toMatchObject({ value: null })
  const done = await local(web.port, asked.code.toLowerCase())
  expect(done).toMatchObject({
    code: 0,
    err: expect.stringMatching(/@.* asked \d+ s ago, in this browser: Firefox/) as string,
  })
  // A replay of the command.
  expect(await local(web.port, asked.code)).toMatchObject({ code: 4 })
  const { value: proof } = await browser('/host/local-proof', [asked.code])
  expect(proof).toEqual(expect.any(String))
  expect(await browser('/host/local-proof', [asked.code])).toMatchObject({ value: null })
  const proven = browserAt(web.port, manager, { 'x-berth-local': String(proof) })
  expect(await proven('/host/host/info')).toMatchObject({ value: { kind: 'local', isOtherAccount: false } })
  const spec = { sessionId: manager.session.id, app: 'echo' }
  expect(await proven('/host/tunnel/open', [spec])).toMatchObject({ ok: true })
})

test.runIf(process.platform === 'linux')(
  'a client that ends its direction with the request does not hide its user: it gets no code',
  async () => {
    const { web, manager } = await setUp()
    const fields = { ...signedIn(manager, web.port), host: `localhost:${web.port}`, 'content-length': '2' }
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect(web.port, '127.0.0.1')
    socket.end(`POST /host/local-code HTTP/1.1\r\n${lines.join('')}\r\n[]`)
    const answer = await text(socket)
    expect(answer).toContain('browser_user_hidden')
    expect(answer).not.toContain('validSeconds')
  },
)

test('connections that anybody holds at the socket of all users keep nobody out', async () => {
  const { directory, browser } = await setUp()
  const { code } = codeOf(await browser('/host/local-code'))
  const socketPath = join(directory, LOCAL_SOCKETS.everyone)
  const held = Array.from({ length: 100 }, () => connect(socketPath).on('error', () => undefined))
  own?.defer(() => held.forEach(socket => void socket.destroy()))
  await expect.poll(() => held.every(({ connecting }) => !connecting)).toBe(true)
  const asked = request({ socketPath, path: `/codes/${code}`, headers: { [LOCAL_SOCKET_HEADER]: '1' } }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  expect(answer.resume().statusCode).toBe(200)
})

test('a program of somebody else that holds the socket’s name gets neither memory nor a puzzling text', async () => {
  const port = 65_431
  const directory = `/tmp/berth-local-${port}`
  await mkdir(directory)
  own = new AsyncDisposableStack()
  own.defer(() => rm(directory, { recursive: true }))
  const answers = ['<h1>', '{"email":5}', '{}'.padStart(1024 * 1024)]
  const server = createServer((_, response) => void response.end(answers.shift()))
  own.use(server)
  await once(server.listen(join(directory, LOCAL_SOCKETS.everyone)), 'listening')
  for (const err of ['is not Berth', 'is not Berth', 'No Berth of this computer'])
    expect(await local(port, 'ABCD-EFGH')).toMatchObject({ code: 1, err: expect.stringContaining(err) as string })
})

test('a code that another browser has read gives it nothing', async () => {
  const { web, manager, browser } = await setUp()
  const { code } = codeOf(await browser('/host/local-code'))
  expect(await local(web.port, code)).toMatchObject({ code: 0 })
  const secret = `berth_${'of-another-sign-in'.padEnd(43, '_')}`
  manager.otherSecrets.add(secret)
  const thief = browserAt(web.port, { originSecret: secret })
  expect(await thief('/host/local-proof', [code])).toMatchObject({ value: null })
  expect(await browser('/host/local-proof', [code])).toMatchObject({ value: expect.any(String) as string })
})

test('a browser elsewhere, by its address or behind a proxy, gets no code and no proof', async () => {
  const { web, manager, browser } = await setUp()
  const { code } = codeOf(await browser('/host/local-code'))
  expect(await local(web.port, code)).toMatchObject({ code: 0 })
  for (const headers of [
    { 'x-forwarded-for': '192.0.2.1' },
    { via: '1.1 lb' },
    { host: 'berth.example.org', origin: 'http://berth.example.org' },
  ]) {
    const elsewhere = browserAt(web.port, manager, headers)
    expect(await elsewhere('/host/local-code')).toMatchObject({ value: null })
    expect(await elsewhere('/host/local-proof', [code])).toMatchObject({ value: null })
  }
  // A name that a web page made to point here (DNS rebinding) is not a name of the console.
  const rebound = browserAt(web.port, manager, { host: `rebind.example.org:${web.port}` })
  expect((await rebound('/host/local-code')).value).toBeUndefined()
  // Without a sign-in there is no code either.
  const stranger = browserAt(web.port, manager, { cookie: 'other=1' })
  expect(await stranger('/host/local-code')).toMatchObject({ code: 'not_signed_in' })
})

test.runIf(isRoot)(
  'a browser of another user of the computer opens ports, and nothing writes files for it',
  async () => {
    const { web, manager, directory } = await setUp()
    const browser = othersBrowserAt(web.port, manager)
    const { code } = codeOf(await browser('/host/local-code'))
    // A user tricked into entering the code of a browser that somebody else has started, for example a proxy.
    expect(await local(web.port, code)).toMatchObject({
      code: 3,
      err: expect.stringContaining(`another user of this computer (user id ${USER})`) as string,
    })
    // The socket of the account cannot be reached, not even by its path.
    const socket = (name: string) => [
      ...['-sS', '-m', '5', '-o', '/dev/null', '-w', '%{http_code}', '-X', 'POST'],
      ...['--unix-socket', join(directory, name), '-H', `${LOCAL_SOCKET_HEADER}: 1`, `http://localhost/codes/${code}`],
    ]
    await expect(asOther('curl', ...socket('account/socket'))).rejects.toThrow()
    if (await asOther('test', '-r', MAIN).catch(() => undefined)) {
      const command = [MAIN, 'local', code, '--port', String(web.port), '--yes']
      expect((await asOther(process.execPath, ...command)).stderr).toContain('Confirmed')
    } else expect((await asOther('curl', ...socket('socket'))).stdout).toBe('204')
    const { value: proof } = await browser('/host/local-proof', [code])
    const proven = { 'x-berth-local': String(proof) }
    expect(await browser('/host/host/info', [], proven)).toMatchObject({
      value: { kind: 'local', isOtherAccount: true },
    })
    const spec = { sessionId: manager.session.id, app: 'echo' }
    expect(await browser('/host/tunnel/open', [spec], proven)).toMatchObject({ ok: true })
    const refused = { ok: false, error: { code: 'forbidden', detail: { why: /which is not yours/ } } }
    expect(await browser('/host/ssh/connect', [spec], proven)).toMatchObject(refused)
    expect(await browser('/host/ssh/keyFile', [spec.sessionId, 'filezilla'], proven)).toMatchObject(refused)
    expect(await browser('/host/sftp/open', [{}], proven)).toMatchObject(refused)
    expect(await browser('/host/sftp/keyFile', ['openssh'], proven)).toMatchObject(refused)
    // Whether a later connection of the console's account may write into its ~/.ssh is this account's decision.
    const settings = { preferredSshPort: null, manageSshConfig: false }
    expect(await browser('/host/host/saveSettings', [settings], proven)).toMatchObject(refused)
    expect(await browser('/host/host/settings', [], proven)).toMatchObject({ value: { manageSshConfig: true } })
  },
)

test('requests that are not of the command are refused at the socket; the directory goes with the console', async () => {
  const { web, directory, browser } = await setUp()
  const { code } = codeOf(await browser('/host/local-code'))
  const status = async (...args: string[]) =>
    (
      await run('curl', [
        '-sS',
        '-m',
        '5',
        '-w',
        '%{http_code}',
        '-o',
        '/dev/null',
        '--unix-socket',
        join(directory, 'socket'),
        ...args,
      ])
    ).stdout
  expect(await status(`http://localhost/codes/${code}`)).toBe('400')
  expect(await status('-H', `${LOCAL_SOCKET_HEADER}: 1`, 'http://localhost/codes/2222-2222')).toBe('404')
  expect(await status('-H', `${LOCAL_SOCKET_HEADER}: 1`, 'http://localhost/../etc/passwd')).toBe('400')
  await own?.disposeAsync()
  await expect(stat(directory)).rejects.toMatchObject({ code: 'ENOENT' })
  expect(await local(web.port, code)).toMatchObject({
    code: 1,
    err: expect.stringContaining('No Berth of this computer') as string,
  })
})

test.runIf(isRoot)(
  'a directory of somebody else at our name leaves the console without sockets, and running',
  async () => {
    await using two = new AsyncDisposableStack()
    const first = await startWebConsole(two, { localProof: 'required' })
    const { port } = first.web
    await two.disposeAsync()
    const directory = `/tmp/berth-local-${port}`
    await mkdir(directory)
    try {
      await run('chown', [String(USER), directory])
      own = new AsyncDisposableStack()
      const { web, manager } = await startWebConsole(own, { localProof: 'required', port })
      expect(await browserAt(web.port, manager)('/host/local-code')).toMatchObject({ value: null })
    } finally {
      await rm(directory, { recursive: true })
    }
  },
)
