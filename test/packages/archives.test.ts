import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MANIFEST } from '../../build/packages/manifest.ts'
import { sourceDate } from '../../build/packages/source-date.ts'
import { managerIdOf, root } from '../fixtures/berth.ts'
import { freePort } from '../fixtures/free-port.ts'
import { removeEverythingOf } from '../fixtures/leftovers.ts'
import { removeData } from '../fixtures/unmount-below.ts'
import { openFreshRoot } from './fresh-root.ts'
import { expectFirstWindow, LIBRARIES, prepareDesktop, SANDBOX, startInstalledApp, USER } from './installed-app.ts'
import { madePackage } from './packager.ts'

/** Packages that need no package manager of the system: archives, the npm tarball, the image. */
const run = promisify(execFile)
const packages = mkdtempSync(join(tmpdir(), 'berth-packages-'))

beforeAll(() => {
  cpSync(madePackage('berth-server', 'tar.gz'), join(packages, 'server.tar.gz'))
  cpSync(madePackage('berth-desktop', 'tar.gz'), join(packages, 'desktop.tar.gz'))
})
afterAll(() => rmSync(packages, { recursive: true, force: true }))

test('the archive of the servers runs where it was unpacked, with nothing else installed: sign in, a session, its output', async () => {
  await using debian = await openFreshRoot(packages)
  const { shell, data } = debian
  await shell('apt-get install -y -q --no-install-recommends ca-certificates iptables openssh-client')
  await shell('mkdir /srv/berth && tar -xzf /packages/server.tar.gz -C /srv/berth --strip-components=1')
  const berth = '/srv/berth/berth'
  expect(await shell(`${berth} --version`)).toContain(MANIFEST.version)
  const servers = await debian.startServers(`${berth} up --no-open`)
  const credentials = `--email admin@localhost --password-stdin < ${data}/admin-password`
  await shell(`${berth} login --endpoint ${servers.url} ${credentials}`)
  await shell(`${berth} session create --image berth/python:3.13 --name packed --cpu 0.5 --mem 256m --wait`)
  expect(await shell(`${berth} ssh packed "echo from the session"`)).toContain('from the session')
  await shell(`${berth} session rm packed`)
  await servers.stop()
})

test('the archive of the desktop app shows its window where it was unpacked', async () => {
  await using debian = await openFreshRoot(packages, SANDBOX)
  const { shell } = debian
  await shell(`apt-get install -y -q --no-install-recommends ${LIBRARIES}`)
  await prepareDesktop(debian)
  const folder = `/home/${USER}/berth`
  await shell(`mkdir ${folder} && tar -xzf /packages/desktop.tar.gz -C ${folder} --strip-components=1`)
  await using app = await startInstalledApp(debian, `${folder}/berth-desktop`)
  await expectFirstWindow(app, debian)
  await app.kill()
})

test('npx runs the npm tarball without a clone: the command line, and the servers with the page', async () => {
  const data = await mkdtemp(join(tmpdir(), 'berth-test-npx-'))
  const npx = ['exec', '--yes', `--package=${madePackage('berth-', 'tgz')}`, '--', 'berth']
  const cwd = mkdtempSync(join(tmpdir(), 'berth-test-npx-'))
  expect((await run('npm', [...npx, '--version'], { cwd })).stdout).toContain(MANIFEST.version)
  const env = {
    ...process.env,
    ...{ BERTH_DATA: data, BERTH_CONFIG_DIR: join(data, 'config'), BERTH_AGENT_CLAIM: basename(data), BERTH_PORT: '0' },
  }
  // A process group of its own, because npm does not pass every signal on.
  const up = spawn('npm', [...npx, 'up', '--no-open', '--json'], {
    ...{ cwd, env, detached: true },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(createInterface({ input: up.stdout }), 'line')) as [string]
    const { url } = JSON.parse(line) as { url: string }
    expect(await (await fetch(new URL('/', url))).text()).toContain('<title>Berth</title>')
    expect((await fetch(new URL('/healthz', url))).status).toBe(200)
  } finally {
    const ended = once(up, 'exit')
    process.kill(-up.pid!, 'SIGTERM')
    await ended
    await removeEverythingOf(await managerIdOf(data))
    await run('docker', ['volume', 'rm', '-f', basename(data)]).catch(() => undefined)
    await removeData(data)
    rmSync(cwd, { recursive: true, force: true })
  }
})

test('the image runs as an ordinary user without any right of root: sign in, and the same account after it was replaced', async () => {
  const { stdout } = await run('docker', ['load', '-q', '-i', madePackage('berth-server', 'docker.tar')])
  const tag = /^Loaded image: (.+)$/m.exec(stdout)?.[1] ?? ''
  const name = `berth-test-image-${randomUUID().slice(0, 8)}`
  const rights = ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--read-only', '--tmpfs', '/tmp:exec']
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const start = async () => {
    await run('docker', [
      ...['run', '-d', '--name', name, '--label', 'berth.test=packages', ...rights, '-v', `${name}:/var/lib/berth`],
      ...['-p', `127.0.0.1:${port}:8400`, '-e', `BERTH_ALLOWED_HOSTS=localhost:${port}`, tag],
    ])
    const status = () =>
      fetch(new URL('/healthz', url)).then(
        response => response.status,
        () => 0,
      )
    await expect.poll(status, { timeout: 60_000 }).toBe(200)
  }
  const inside = async (...command: string[]) => (await run('docker', ['exec', name, ...command])).stdout
  try {
    await start()
    expect(await (await fetch(new URL('/', url))).text()).toContain('<title>Berth</title>')
    expect((await inside('id', '-un')).trim()).toBe('berth')
    const password = (await inside('cat', '/var/lib/berth/admin-password')).trim()
    const signIn = async () => {
      const { status } = await fetch(new URL('/api/v1/auth/login', url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: url },
        body: JSON.stringify({ email: 'admin@localhost', password }),
      })
      return status
    }
    expect(await signIn()).toBe(200)
    await run('docker', ['stop', '-t', '30', name])
    const { stdout: code } = await run('docker', ['inspect', '-f', '{{.State.ExitCode}}', name])
    expect(code.trim()).toBe('0')
    await run('docker', ['rm', name])
    await start()
    expect(await signIn()).toBe(200)
  } finally {
    await run('docker', ['rm', '-f', name])
    await run('docker', ['volume', 'rm', '-f', name])
    await run('docker', ['image', 'rm', tag])
  }
})

test.each([
  ['berth-', 'tgz', 8e6],
  ['berth-server', 'tar.gz', 90e6],
  ['berth-server', 'deb', 80e6],
  ['berth-server', 'rpm', 80e6],
  ['berth-server', 'docker.tar', 400e6],
  ['berth-desktop', 'tar.gz', 200e6],
  ['berth-desktop', 'deb', 190e6],
  ['berth-desktop', 'rpm', 190e6],
])('%s*.%s stays below its budget of %d bytes', (name, ending, budget) => {
  const { size } = statSync(madePackage(name, ending))
  expect(size).toBeGreaterThan(budget / 10)
  expect(size).toBeLessThan(budget)
})

test('made again, packages are the same to the byte', () => {
  const folder = join(root, 'dist/packages')
  const hashes = () =>
    Object.fromEntries(
      readdirSync(folder)
        .filter(name => /\.(tgz|tar\.gz|deb|rpm)$/.test(name))
        .map(name => [
          name,
          createHash('sha256')
            .update(readFileSync(join(folder, name)))
            .digest('hex'),
        ]),
    )
  const before = hashes()
  expect(Object.keys(before)).toHaveLength(7)
  const systems = ['server', 'desktop'].flatMap(name => ['tar', 'deb', 'rpm'].map(kind => `${name}-${kind}`))
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(sourceDate()) }
  const program = join(root, 'build/packages/main.ts')
  execFileSync(process.execPath, [program, 'npm', ...systems], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  expect(hashes()).toEqual(before)
})
