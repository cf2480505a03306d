import { execFile, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { startProxy } from '#proxy'
import { type Berth, root, startBerth } from '../fixtures/berth.ts'

const run = promisify(execFile)
const IMAGE = 'berth/python:3.13'
/** More than all buffers on the way can hold. `e2e/main-journey.test.ts` moves 100 MB. */
const SIZE = 32 * 2 ** 20

let berth: Berth
let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-journey-'))
  berth = await startBerth({ firstStart: true, environment: { BERTH_APPS_ADDRESS: 'http://*.apps.localhost' } })
})
afterAll(async () => {
  await berth[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

async function startSession(name: string): Promise<Session> {
  const { code, stdout, stderr } = await berth.cli(
    ...['session', 'create', '--image', IMAGE, '--name', name, '--cpu', '1', '--mem', '1g', '--wait', '--json'],
  )
  expect(stderr).not.toContain('berth:')
  expect(code).toBe(0)
  return JSON.parse(stdout) as Session
}

describe('from a request to bytes in a container', () => {
  let session: Session
  beforeAll(async () => {
    session = await startSession('journey')
  })

  test('a session runs, with every status and its reason on the timeline', async () => {
    expect(session.status).toBe('RUNNING')
    const { stdout } = await berth.cli('session', 'events', 'journey', '--json')
    const states = (JSON.parse(stdout) as { to: string }[]).map(event => event.to)
    expect(states).toEqual(['PENDING', 'SCHEDULED', 'PREPARING', 'RUNNING'])
  })

  test('the requested limits hold in the container', async () => {
    const container = session.kernels[0]?.containerId ?? ''
    const { stdout } = await run('docker', ['inspect', container])
    const [{ HostConfig: host }] = JSON.parse(stdout) as [{ HostConfig: Record<string, unknown> }]
    expect(host).toMatchObject({
      Memory: 2 ** 30,
      MemorySwap: 2 ** 30,
      Privileged: false,
      NetworkMode: expect.stringMatching(/^berth-/) as string,
    })
    expect(host.SecurityOpt).toContain('no-new-privileges')
  })

  test('ssh runs a command as the user work, and the key in the home directory is that of the session', async () => {
    const { stdout } = await berth.cli('ssh', 'journey', '--', 'id -un; id -u; stat -c %a ~/id_container; hostname')
    const account = (await run('id', ['-u', 'berth-session'])).stdout.trim()
    expect(stdout.split('\n').slice(0, 3)).toEqual(['work', account, '600'])
  })

  test('sftp, scp and rsync move 32 MB both ways unchanged', async () => {
    const source = join(directory, 'source')
    await writeFile(source, randomBytes(SIZE))
    const expected = await sha256(source)

    const batch = join(directory, 'batch')
    await writeFile(batch, `put ${source} by-sftp\nget by-sftp ${join(directory, 'sftp-back')}\n`)
    expect(await berth.cli('sftp', 'journey', '-b', batch)).toMatchObject({ code: 0 })
    expect(await sha256(join(directory, 'sftp-back'))).toBe(expected)

    expect(await berth.cli('scp', 'journey', source, ':by-scp')).toMatchObject({ code: 0 })
    expect(await berth.cli('scp', 'journey', ':by-scp', join(directory, 'scp-back'))).toMatchObject({ code: 0 })
    expect(await sha256(join(directory, 'scp-back'))).toBe(expected)

    const config = join(directory, 'ssh-config')
    await writeFile(config, (await berth.cli('ssh-config', 'journey')).stdout)
    const shell = `ssh -F ${config}`
    const environment = { ...process.env, BERTH_CONFIG_DIR: join(berth.data, 'cli', berth.adminEmail) }
    await run('rsync', ['-W', '-e', shell, '--rsync-path=/opt/berth/bin/rsync', source, 'berth-journey:by-rsync'], {
      env: environment,
    })
    await run(
      'rsync',
      ['-W', '-e', shell, '--rsync-path=/opt/berth/bin/rsync', 'berth-journey:by-rsync', join(directory, 'rsync-back')],
      { env: environment },
    )
    expect(await sha256(join(directory, 'rsync-back'))).toBe(expected)
  })

  test('psftp of PuTTY moves 32 MB both ways with the converted key and the pinned host key', async () => {
    const api = await berth.api()
    const source = join(directory, 'source-putty')
    await writeFile(source, randomBytes(SIZE))
    const headers = { authorization: `Bearer ${await tokenOfCli()}` }
    await using proxy = await startProxy({
      managerUrl: berth.url,
      credentials: () => Promise.resolve(headers),
      dataDir: join(directory, 'proxy'),
      userId: session.ownerId,
      sshDirectory: join(directory, 'openssh'),
    })
    const access = await api.getSshAccess({ params: { id: session.id } })
    const tunnel = await proxy.tunnel.open({ sessionId: session.id, app: 'sshd' })
    const { content } = await proxy.ssh.keyFile(session.id, 'ppk')
    const key = join(directory, 'id_container.ppk')
    await writeFile(key, content, { mode: 0o600 })
    const batch = join(directory, 'putty-batch')
    await writeFile(batch, `put ${source} by-psftp\nget by-psftp ${join(directory, 'psftp-back')}\nquit\n`)
    const identity = ['-i', key, '-hostkey', access.hostKeyFingerprint]
    await run('psftp', ['-batch', '-P', String(tunnel.port), ...identity, '-b', batch, `${access.user}@127.0.0.1`])
    expect(await sha256(join(directory, 'psftp-back'))).toBe(await sha256(source))
  })

  test('OpenSSH refuses an unpinned host key', async () => {
    const config = (await berth.cli('ssh-config', 'journey')).stdout
    const knownHosts = /UserKnownHostsFile "(.*)"/.exec(config)?.[1] ?? ''
    const pinned = await readFile(knownHosts, 'utf8')
    const file = join(directory, 'forged-config')
    const forged = join(directory, 'forged-hosts')
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, 'other')])
    const other = await readFile(join(directory, 'other.pub'), 'utf8')
    await writeFile(forged, `${pinned.split(' ')[0] ?? ''} ${other}`)
    await writeFile(file, config.replace(knownHosts, forged))
    const environment = { ...process.env, BERTH_CONFIG_DIR: join(berth.data, 'cli', berth.adminEmail) }
    await expect(run('ssh', ['-F', file, 'berth-journey', 'true'], { env: environment })).rejects.toThrow(
      /Host key verification failed/,
    )
  })

  test('berth app opens Jupyter on its own origin, and only with the ticket', async () => {
    const environment = { ...process.env, BERTH_CONFIG_DIR: join(berth.data, 'cli', berth.adminEmail) }
    const app = spawn(join(root, 'bin/berth'), ['app', 'journey', 'jupyterlab', '--json', '--no-open'], {
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      const line = await new Promise<string>(done => createInterface({ input: app.stdout }).once('line', done))
      const url = new URL((JSON.parse(line) as { url: string }).url)
      expect(url.hostname).toMatch(/^jupyterlab--[a-z2-7]{12}\.localhost$/)
      expect((await get(url, '/api/status')).status).toBe(403)
      const opened = await get(url, url.pathname + url.search)
      expect(opened.status).toBe(303)
      const cookie = opened.cookie.split(';')[0] ?? ''
      expect((await get(url, '/api/status', { cookie })).status).toBe(200)
      expect((await get(url, url.pathname + url.search)).status).toBe(403)
      expect((await get(url, '/api/status', { cookie, origin: 'http://evil.example' })).status).toBe(403)
      expect((await get(url, '/api/status', { cookie, host: 'evil.example' })).status).toBe(403)
    } finally {
      app.kill('SIGTERM')
    }
  })

  test('a published JupyterLab opens with its link and without an account, and nothing of it does once the link has ended', async () => {
    expect((await berth.cli('app', 'publish', 'journey', 'jupyterlab')).stderr).toContain('cannot be published')
    expect((await berth.cli('admin', 'settings', 'set', 'publishApps=true')).code).toBe(0)
    const { stdout } = await berth.cli('app', 'publish', 'journey', 'jupyterlab', '--for', '1h', '--json')
    const made = JSON.parse(stdout) as { id: string; url: string }
    const link = new URL(made.url)
    const at = (path: string, headers: Record<string, string> = {}) =>
      get(new URL(berth.url), path, { host: link.host, ...headers })
    expect((await at('/api/status')).status).toBe(403)
    const opened = await at(link.pathname + link.search)
    expect(opened).toMatchObject({ status: 303, location: '/lab' })
    const cookie = opened.cookie.split(';')[0] ?? ''
    expect((await at('/api/status', { cookie })).status).toBe(200)
    // Jupyter would refuse a request without its token, or one that seems to come from another site.
    expect((await at('/api/contents', { cookie, origin: link.origin })).status).toBe(200)
    expect((await berth.cli('app', 'unpublish', made.id)).code).toBe(0)
    await expect.poll(async () => (await at('/api/status', { cookie })).status).toBe(404)
  })

  test('a port that the image does not declare opens by its number, on the page of the link', async () => {
    const server = `cd /tmp && mkdir -p sub && echo hello > sub/page.txt && (setsid python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 </dev/null &)`
    expect(await berth.cli('ssh', 'journey', '--', server)).toMatchObject({ code: 0 })
    const headers = { authorization: `Bearer ${await tokenOfCli()}` }
    await using proxy = await startProxy({
      managerUrl: berth.url,
      credentials: () => Promise.resolve(headers),
      dataDir: join(directory, 'ports'),
      userId: session.ownerId,
      sshDirectory: join(directory, 'ports-ssh'),
    })
    const spec = { sessionId: session.id, app: 'http-8765', path: '/sub/page.txt?x=1' }
    const url = new URL((await proxy.tunnel.openApp(spec)).url)
    expect(url.hostname).toMatch(/^http-8765--/)
    const opened = await get(url, url.pathname + url.search)
    expect(opened).toMatchObject({ status: 303, location: '/sub/page.txt?x=1' })
    const cookie = opened.cookie.split(';')[0] ?? ''
    expect((await get(url, '/sub/page.txt', { cookie })).status).toBe(200)
    expect((await get(url, '/sub/page.txt')).status).toBe(403)

    const silent = proxy.tunnel.open({ sessionId: session.id, app: 'tcp-8766' })
    await expect(silent).rejects.toMatchObject({
      code: 'port_silent',
      detail: { why: 'Nothing in the session listens on port 8766.' },
    })
    const eve = await berth.user('eve-ports@localhost')
    expect((await eve.cli('app', session.id, 'http-8765', '--json', '--no-open')).code).toBe(4)
  })

  test("two users cannot see, open or stop each other's sessions", async () => {
    const eve = await berth.user('eve@localhost')
    expect(JSON.parse((await eve.cli('session', 'ls', '--all', '--json')).stdout)).toEqual([])
    expect((await eve.cli('session', 'show', session.id)).code).toBe(4)
    expect((await eve.cli('session', 'rm', session.id)).code).toBe(4)
    expect((await eve.cli('session', 'logs', session.id)).code).toBe(4)
    expect((await eve.cli('app', session.id, 'jupyterlab', '--json', '--no-open')).code).toBe(4)
    expect((await eve.cli('ssh', session.id, 'true')).code).toBe(4)
    const stream = await fetch(`${berth.url}/stream/session/${session.id}/tcpproxy?app=sshd`, {
      headers: { authorization: `Bearer ${eve.token}` },
    })
    expect(stream.status).toBeGreaterThanOrEqual(400)
    expect((await (await berth.api()).getSession({ params: { id: session.id } })).status).toBe('RUNNING')
  })

  test('terminating leaves neither a container nor a network, and the log can still be read', async () => {
    const { code } = await berth.cli('session', 'rm', 'journey', '--wait')
    expect(code).toBe(0)
    const list = (kind: string[]) =>
      run('docker', [...kind, '--filter', `label=berth.kernel-id=${session.kernels[0]?.id ?? ''}`, '-q'])
    await expect.poll(async () => (await list(['ps', '-a'])).stdout + (await list(['network', 'ls'])).stdout).toBe('')
    expect((await berth.cli('session', 'logs', session.id)).code).toBe(0)
  })
})

describe('bad requests', () => {
  const create = (...flags: string[]) => berth.cli('session', 'create', '--json', ...flags)

  test.each([
    ['an unknown image', ['--image', 'no/such:image'], 4, 'image_not_found'],
    ['a name of three characters', ['--image', IMAGE, '--name', 'abc'], 2, 'bad_request'],
    ['a name with spaces', ['--image', IMAGE, '--name', 'my session'], 2, 'bad_request'],
    ['a path as a name', ['--image', IMAGE, '--name', '../../etc'], 2, 'bad_request'],
    ['more CPU than any agent has', ['--image', IMAGE, '--cpu', '4000'], 1, 'request_too_large'],
    ['RAM as text', ['--image', IMAGE, '--mem', 'lots'], 2, 'bad_request'],
    ['a negative amount', ['--image', IMAGE, '--cpu=-1'], 2, 'bad_request'],
  ])('%s is refused with a code, and nothing is created', async (_title, flags, exit, code) => {
    const before = (await (await berth.api()).listSessions({})).total
    const outcome = await create(...flags)
    expect(outcome.code).toBe(exit)
    expect(JSON.parse(outcome.stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({ error: { code } })
    expect((await (await berth.api()).listSessions({})).total).toBe(before)
  })
})

async function tokenOfCli(): Promise<string> {
  const file = join(berth.data, 'cli', berth.adminEmail, 'sign-in.json')
  return (JSON.parse(await readFile(file, 'utf8')) as { token: string }).token
}

/** Node does not resolve `*.localhost`; the Host header carries the origin as a browser would send it. */
function get(
  url: URL,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; cookie: string; location: string | undefined }> {
  return new Promise((done, reject) => {
    const call = request(
      { host: '127.0.0.1', port: url.port, path, headers: { host: url.host, ...headers } },
      reply => {
        const { statusCode: status = 0, headers: answer } = reply
        reply
          .resume()
          .once('end', () => done({ status, cookie: answer['set-cookie']?.[0] ?? '', location: answer.location }))
      },
    )
    call.once('error', reject).end()
  })
}
