import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { writeSignIn } from '../../../cli/config/sign-in.ts'
import { createAuthority } from '../../fixtures/authority.ts'
import { createCli, outcomeOf } from '../../fixtures/cli.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { StandIn, tcpApp } from '../../fixtures/proxy-stand-in.ts'
import { startSshServer } from '../../fixtures/ssh-server.ts'

/** `berth stdio`, which OpenSSH starts for every connection of a Host block. */
const run = promisify(execFile)
const BERTH = join(import.meta.dirname, '../../../bin/berth')
let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

async function listening(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, onConnection).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** A signed-in user with a session whose sshd is this server. */
async function setUpSsh(server: Awaited<ReturnType<typeof startSshServer>>) {
  const { manager, config } = await setUp(server.port)
  const { private: privateKey, public: publicKey } = server.sessionKey
  manager.sshAccess = { user: 'work', ...server, privateKey, publicKey }
  const cli = stack.use(await createCli())
  /** Output of `berth ssh-config` for the session. */
  const blockOf = async (environment: NodeJS.ProcessEnv = {}, ...flags: string[]) => {
    const { out } = await cli.run(['ssh-config', ...flags, manager.session.id], '', {
      ...environment,
      BERTH_CONFIG_DIR: config,
    })
    return out
  }
  return { manager, config, blockOf }
}

/** A signed-in user, and a session whose sshd is at this port. */
async function setUp(port: number) {
  const manager = stack.use(await new StandIn([{ app: tcpApp('sshd'), port }]).start())
  const config = stack.use(await temporaryDirectory())
  await signIn(config.path, manager.url)
  const start = (environment: NodeJS.ProcessEnv = {}, ...args: string[]) => {
    const words = ['stdio', '--config-dir', config.path, ...args, manager.session.id]
    return spawn(process.execPath, [BERTH, ...words], { env: { ...cleanEnvironment(), ...environment } })
  }
  return { manager, config: config.path, start }
}

const signIn = (directory: string, endpoint: string) =>
  writeSignIn({ endpoint, userId: 'u', email: 'a@localhost', token: 't', expiresAt: '2100-01-01T00:00:00Z' }, directory)

test('bytes travel both ways, and the end of one direction leaves the other open', async () => {
  const port = await listening(socket => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('end', () => socket.end(`got ${Buffer.concat(chunks).length}`))
  })
  const { start } = await setUp(port)
  const child = start()
  child.stdin.end(Buffer.alloc(3_000_000, 'x'))
  expect(await outcomeOf(child)).toEqual({ code: 0, out: 'got 3000000', err: '' })
})

test('berth app NAME sshd --json names user, key files, host key and a command that works as it is', async () => {
  const server = stack.use(await startSshServer())
  const { manager, config } = await setUp(server.port)
  const { private: privateKey, public: publicKey } = server.sessionKey
  manager.sshAccess = { user: 'work', ...server, privateKey, publicKey }
  const words = ['app', manager.session.id, 'sshd', '--json']
  const child = spawn(process.execPath, [BERTH, ...words], {
    env: { ...cleanEnvironment(), BERTH_CONFIG_DIR: config },
  })
  const outcome = outcomeOf(child)
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const said = JSON.parse(String(line)) as Record<'identityFile' | 'ppkFile', string> & { commands: { ssh: string } }
  expect(said).toMatchObject({
    ...{ host: '127.0.0.1', port: expect.any(Number) as number, user: 'work' },
    ...{ hostKey: server.hostKey, hostKeyFingerprint: server.hostKeyFingerprint },
  })
  expect(await readFile(said.identityFile, 'utf8')).toContain('PRIVATE KEY')
  expect(await readFile(said.ppkFile, 'utf8')).toMatch(/^PuTTY-User-Key-File/)
  expect((await run('sh', ['-c', `${said.commands.ssh} -o BatchMode=yes hostname`])).stdout).toBe('ran hostname')
  child.kill('SIGINT')
  await outcome
  await expect(readFile(said.identityFile)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('OpenSSH connects by the Host block of berth ssh-config', async () => {
  const server = stack.use(await startSshServer())
  const { config, blockOf } = await setUpSsh(server)
  await writeFile(join(config, 'ssh_config'), await blockOf())
  const { stdout } = await run('ssh', ['-F', join(config, 'ssh_config'), 'berth-my-session', 'hostname'])
  expect(stdout).toBe('ran hostname')
})

test('with two servers each Host block leads to its own, also after a sign-in to the other', async () => {
  const servers = [stack.use(await startSshServer('first')), stack.use(await startSshServer('second'))] as const
  const [first, second] = [await setUpSsh(servers[0]), await setUpSsh(servers[1])]
  const home = { BERTH_SSH_DIR: join(first.config, '.ssh') }
  const blocks = [await first.blockOf(home), await second.blockOf(home)]
  const short = 'berth-my-session'
  const [ofFirst, ofSecond] = [first, second].map(({ manager }) => `${short}.localhost.${new URL(manager.url).port}`)
  const file = join(first.config, 'ssh_config')
  const ask = async (alias: string | undefined) =>
    (await run('ssh', ['-F', file, '-o', 'BatchMode=yes', alias ?? '', 'x'])).stdout
  // The first block that has a name counts, and that of the other server is above.
  await writeFile(file, blocks.toReversed().join('\n'))
  expect(await Promise.all([short, ofFirst, ofSecond].map(ask))).toEqual(['first x', 'first x', 'second x'])
  expect(blocks[1]).toMatch(
    /^# Names without a server belong to localhost\.\d+ on this computer\. "berth ssh-config --default"/,
  )
  // The sign-in of one configuration directory is that of one server; a block of another one does not lead there.
  await signIn(first.config, second.manager.url)
  await expect(ask(short)).rejects.toThrow(`you are signed in to ${second.manager.url}`)
  // A file that cannot be read may name the first server.
  const unreadable = join(second.config, '.ssh')
  await mkdir(join(unreadable, 'berth', 'default-server'), { recursive: true })
  const careful = await second.blockOf({ BERTH_SSH_DIR: unreadable })
  expect(careful).toContain('default-server cannot be read')
  expect(careful).toMatch(new RegExp(`^Host ${ofSecond}$`, 'm'))
  // The user gives the short names to the second server.
  await writeFile(file, await second.blockOf(home, '--default'))
  expect(await ask(short)).toBe('second x')
})

test('a token of the environment is not sent to the server of a Host block', async () => {
  const { manager, start } = await setUp(1)
  const token = { BERTH_TOKEN: 'berth_secret', BERTH_ENDPOINT: 'https://berth.example.org' }
  const outcome = await outcomeOf(start(token, '--endpoint', manager.url))
  expect(outcome).toMatchObject({ code: 3, err: expect.stringContaining('BERTH_TOKEN is for https://berth') as string })
  expect(manager.seen).toEqual([])
})

test('berth stdio loads neither the schemas of the API nor commander, which take longer than the connection', async () => {
  const { start, config } = await setUp(await listening(socket => socket.end()))
  const list = join(config, 'loaded')
  const hook = `import { registerHooks } from 'node:module'; import { appendFileSync } from 'node:fs'
    registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + '\\n'); return next(url, context) } })`
  const child = start({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` })
  child.stdin.end()
  expect(await outcomeOf(child)).toMatchObject({ code: 0, err: '' })
  const loaded = (await readFile(list, 'utf8')).split('\n')
  expect(loaded.filter(url => url.endsWith('/proxy/connect-app.ts'))).toHaveLength(1)
  expect(loaded.filter(url => /node_modules\/(?!bufferutil|node-gyp-build)/.test(url))).toEqual([])
  expect(loaded.filter(url => /node:(https?|tls)$/.test(url))).toEqual(['node:http'])
})

test.each([
  [
    'nobody is signed in',
    (manager: StandIn) => {
      manager.isSignedIn = false
    },
    3,
    'Sign in first',
  ],
  ['the session has ended', (manager: StandIn) => manager.endSession(), 1, 'The session is not running'],
  ['there is no manager', (manager: StandIn) => manager.stop(), 1, 'does not answer. Is the address right'],
  ['the session has no sshd', (manager: StandIn) => manager.apps.clear(), 4, 'The session has no such app'],
])('if %s, the command reports it at once', async (_, spoil: (manager: StandIn) => unknown, code, text) => {
  const { manager, start } = await setUp(1)
  await spoil(manager)
  expect(await outcomeOf(start())).toEqual({ code, out: '', err: expect.stringContaining(text) as string })
})

test('a refusal behind the manager and a broken connection are explained', async () => {
  const { manager, start } = await setUp(1)
  const refused = await outcomeOf(start())
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('does not accept connections') as string })
  const port = await listening(socket => {
    socket.write('SSH-2.0-x\r\n')
    setTimeout(() => socket.resetAndDestroy(), 100)
  })
  manager.apps.set('sshd', { app: tcpApp('sshd'), port })
  const cut = await outcomeOf(start())
  expect(cut).toMatchObject({ code: 1, out: 'SSH-2.0-x\r\n', err: expect.stringContaining('was cut') as string })
})

test('a keypair that the Host block names but the environment lacks is reported, and nothing is sent', async () => {
  const { manager, start } = await setUp(1)
  const outcome = await outcomeOf(start({}, '--endpoint', manager.url, '--keypair'))
  expect(outcome).toMatchObject({ code: 3, err: expect.stringContaining('made with a keypair') as string })
  expect(manager.seen).toEqual([])
})

test('a keypair signs the request for the grant', async () => {
  const { manager, start } = await setUp(await listening(socket => socket.end('hello')))
  const keypair = { BERTH_ACCESS_KEY: 'AKIAABCDEFGHIJKLMNOP', BERTH_SECRET_KEY: 'secret' }
  const child = start(keypair, '--endpoint', manager.url, '--keypair')
  child.stdin.end()
  expect(await outcomeOf(child)).toEqual({ code: 0, out: 'hello', err: '' })
  expect(manager.seen[0]?.headers.authorization).toContain('Credential=AKIAABCDEFGHIJKLMNOP')
})

test.each([
  ['that the system trusts', true],
  ['that nobody has told the system of', false],
])('berth stdio treats a certificate of an authority %s as other commands do', async (_, isTrusted) => {
  const authority = stack.use(await createAuthority())
  const asked: string[] = []
  const server = createHttpsServer(authority.server, (request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(503).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => void server.close())
  const { config, start } = await setUp(1)
  await signIn(config, `https://localhost:${(server.address() as AddressInfo).port}`)
  const { code, err } = await outcomeOf(start(isTrusted ? { SSL_CERT_FILE: authority.file } : {}))
  expect({ code, isAsked: asked.length > 0 }).toEqual({ code: 1, isAsked: isTrusted })
  expect(err).toContain(isTrusted ? 'HTTP 503' : 'certificate')
})
