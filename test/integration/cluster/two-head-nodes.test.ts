import { once } from 'node:events'
import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { type Agent } from '#manager/contract'
import { type Authority, createAuthority } from '../../fixtures/authority.ts'
import { type Cli, createCli, loginCommand } from '../../fixtures/cli.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { ADMIN, apiOf, readAdminPassword, temporaryDirectory } from '../../fixtures/manager.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'
import { blocksOf, commandsIn, wordsOfBerth } from '../../fixtures/page-blocks.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

const GUIDE = new URL('../../../docs/admin/several-managers.md', import.meta.url)
const SECTION = 'With the packages: two head nodes'
/** Name of the load balancer in the guide; the certificate is for it as well. */
const BALANCER = 'berth.example.org'
const trusted = getCACertificates()

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
  setDefaultCACertificates(trusted)
})

/** The variables of `manager.env` in the guide. */
async function variablesOfGuide(): Promise<Record<string, string>> {
  const [, section = ''] = (await readFile(GUIDE, 'utf8')).split(`## ${SECTION}\n`)
  const [text = ''] = blocksOf(section, 'sh')
  const lines = text.split('\n').map(line => line.trim())
  return Object.fromEntries(lines.filter(Boolean).map(line => splitAt(line, line.indexOf('='))))
}
const splitAt = (line: string, at: number): [string, string] => [line.slice(0, at), line.slice(at + 1)]

interface HeadNode {
  readonly name: string
  readonly data: string
  readonly authority: Authority
  readonly databaseUrl: string
}

/** Writes `manager.env` as in the guide, with the names of this computer, and starts what the unit starts. */
async function startHeadNode(cli: Cli, { name, data, authority, databaseUrl }: HeadNode) {
  const guide = await variablesOfGuide()
  const port = String(await freePort())
  const url = `https://${name}:${port}`
  const [certificate, key] = [join(data, 'certificate.pem'), join(data, 'key.pem')]
  await writeFile(certificate, authority.server.cert)
  await writeFile(key, authority.server.key, { mode: 0o600 })
  const here: Readonly<Record<string, string>> = {
    DATABASE_URL: databaseUrl,
    BERTH_ADVERTISE_URL: url,
    BERTH_TLS_CERTIFICATE: certificate,
    BERTH_TLS_KEY: key,
  }
  const environment = Object.fromEntries(
    Object.entries(guide).map(([variable, value]) => [variable, here[variable] ?? value]),
  )
  expect(Object.keys(environment)).toEqual(expect.arrayContaining(Object.keys(here)))
  const args = ['up', '--no-open', '--no-engine', '--json', '--port', port, '--data', data]
  const child = cli.start(args, { ...environment, SSL_CERT_FILE: authority.file })
  let said = ''
  child.stderr.on('data', (text: Buffer) => (said += text.toString()))
  const stop = async () => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  stack.defer(stop)
  await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error(said))),
  ])
  return { url, data, stop, readyFor: (host: string) => statusOf(`${url}/readyz`, host, authority.ca) }
}

/** Status of an answer, asked for by the name of another host, as a load balancer asks. */
function statusOf(url: string, host: string, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { ca, servername: BALANCER, headers: { host } }, answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .on('error', reject)
      .end()
  })
}

test('the steps of the guide for two head nodes: a host joins at one and is at both, and a sign-in outlives a head node', async () => {
  const { path } = stack.use(await temporaryDirectory())
  const { url: databaseUrl } = stack.use(await startDatabase())
  const authority = stack.use(await createAuthority([BALANCER]))
  setDefaultCACertificates([...trusted, authority.ca])
  const cli = stack.use(await createCli())
  const trusts = { SSL_CERT_FILE: authority.file }
  const [one, two] = [join(path, 'one'), join(path, 'two')]
  for (const data of [one, two]) await mkdir(data, { mode: 0o700 })

  // 1. The first; it made the master key.
  const first = await startHeadNode(cli, { name: 'localhost', data: one, authority, databaseUrl })
  expect((await stat(join(one, 'master.key'))).mode & 0o777).toBe(0o600)

  // 2. Without that key the second one does not start.
  const other = join(path, 'other')
  await mkdir(other, { mode: 0o700 })
  await expect(startHeadNode(cli, { name: '127.0.0.1', data: other, authority, databaseUrl })).rejects.toThrow(
    /master/i,
  )
  await copyFile(join(one, 'master.key'), join(two, 'master.key'))
  const second = await startHeadNode(cli, { name: '127.0.0.1', data: two, authority, databaseUrl })

  // 3. The load balancer asks both, by its own name.
  for (const { readyFor } of [first, second]) {
    expect(await readyFor(BALANCER)).toBe(200)
    expect(await readyFor('somewhere.example.org')).not.toBe(200)
  }

  // 4. Hosts join from either.
  const admin = async (...args: string[]) => {
    const { code, out, err } = await cli.run(['admin', ...args], '', trusts)
    expect([code, err]).toEqual([0, ''])
    return out
  }
  const password = await readAdminPassword(one)
  expect(await cli.run(loginCommand(first.url), password, trusts)).toMatchObject({ code: 0, err: '' })
  const invitation = (await admin('agent', 'join-token')).trim().split('\n').at(-1) ?? ''
  const engine = scriptedEngine({ capacity: { cpu: 2000, mem: 2 ** 30 } })
  const agent = stack.use(await startMeshAgent({ home: join(path, 'host'), engine, join: invitation }))
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  const managers = await admin('manager', 'ls')
  for (const { url } of [first, second]) expect(managers).toContain(url)
  const agents = JSON.parse(await admin('agent', 'ls', '--json')) as Agent[]
  expect(agents).toMatchObject([{ status: 'CONNECTED' }])

  // "When that console fails, the person is still signed in at the other one."
  const signIn = { email: ADMIN.email, password, kind: 'token' } as const
  const { token } = await apiOf(first.url).login({ body: signIn })
  await first.stop()
  expect((await apiOf(second.url, token ?? '').listAgents({})).items).toMatchObject([{ status: 'CONNECTED' }])
})

/** Variables and command of a shell block of the steps of the guide. */
async function stepOfGuide(command: string): Promise<{ command: string[]; variables: Record<string, string> }> {
  const [, section = ''] = (await readFile(GUIDE, 'utf8')).split('## Setting it up\n')
  const block = blocksOf(section, 'sh').find(text => text.includes(command)) ?? ''
  const lines = commandsIn(block)
  const exports = lines.slice(0, -1).map(line => line.replace('export ', ''))
  return {
    command: wordsOfBerth(lines.at(-1) ?? ''),
    variables: Object.fromEntries(exports.map(line => splitAt(line, line.indexOf('=')))),
  }
}

test('the steps of the guide for managers, a load balancer and a console: people sign in at the console, also when a manager has ended', async () => {
  const { path } = stack.use(await temporaryDirectory())
  const { url: databaseUrl } = stack.use(await startDatabase())
  const cli = stack.use(await createCli())
  const secret = join(path, 'console-secret')
  await writeFile(secret, 'a secret of all managers and consoles', { mode: 0o600 })

  const ports: number[] = []
  const balancer = stack.use(await startBalancer(ports))
  const { variables: ofConsole } = await stepOfGuide('berth wsproxy')
  /** Names of the load balancer and of the console in the guide. */
  const [balancerName, consoleName] = [new URL(ofConsole.BERTH_MANAGER_URL ?? '').host, BALANCER]
  const [balancerHost, consolePort] = [new URL(balancer.url).host, String(await freePort())]

  /** Runs a command of the guide with its variables, and with the places and names of this computer. */
  async function run(step: string, places: Readonly<Record<string, string>>) {
    const { command, variables } = await stepOfGuide(step)
    const here = Object.entries(variables).map(([name, value]): [string, string] => [
      name,
      places[name] ?? value.replace(balancerName, balancerHost).replace(consoleName, `localhost:${consolePort}`),
    ])
    const child = cli.start(command, { ...places, ...Object.fromEntries(here) })
    let said = ''
    child.stderr.on('data', (text: Buffer) => (said += text.toString()))
    const ended = once(child, 'exit')
    const stop = async () => {
      if (child.exitCode === null) child.kill('SIGTERM')
      await ended
    }
    stack.defer(stop)
    const [line] = (await Promise.race([
      once(createInterface({ input: child.stdout }), 'line'),
      ended.then(() => Promise.reject(new Error(said))),
    ])) as [string]
    return { url: (JSON.parse(line) as { url: string }).url, stop }
  }
  async function startOne(name: string, key?: string) {
    const data = join(path, name)
    await mkdir(data, { mode: 0o700 })
    if (key !== undefined) await copyFile(key, join(data, 'master.key'))
    const port = String(await freePort())
    const url = `http://127.0.0.1:${port}`
    const places = { BERTH_DATA: data, BERTH_PORT: port, DATABASE_URL: databaseUrl, BERTH_ADVERTISE_URL: url }
    ports.push(Number(port))
    return { data, ...(await run('berth manager', { ...places, BERTH_CONSOLE_SECRET_FILE: secret })) }
  }

  // 2. and 3. Managers with the master key of the first.
  const first = await startOne('one')
  const second = await startOne('two', join(first.data, 'master.key'))

  // 4. A load balancer, which asks by its own name.
  const [, section = ''] = (await readFile(GUIDE, 'utf8')).split('## Setting it up\n')
  expect(/uri \/readyz hdr Host (\S+)`/.exec(section)?.[1]).toBe(balancerName)
  for (const { url } of [first, second])
    expect((await rawRequest(`${url}/readyz`, { headers: { host: balancerHost } })).status).toBe(200)

  // 5. A console in front of it.
  const consoleDir = join(path, 'page')
  await mkdir(consoleDir)
  await writeFile(join(consoleDir, 'index.html'), '<!doctype html><title>Console</title>')
  const { url } = await run('berth wsproxy', {
    BERTH_DATA: join(path, 'console'),
    BERTH_PORT: consolePort,
    // Without TLS, which a computer that others reach needs.
    BERTH_HOST: '127.0.0.1',
    BERTH_MANAGER_URL: balancer.url,
    BERTH_CONSOLE_SECRET_FILE: secret,
    BERTH_CONSOLE_DIR: consoleDir,
  })
  expect(await (await fetch(url)).text()).toContain('<title>Console</title>')
  const signIn = { email: ADMIN.email, password: await readAdminPassword(first.data), kind: 'token' } as const
  const { token } = await apiOf(url).login({ body: signIn })
  const api = apiOf(url, token ?? '')
  const managers = async () => (await api.listManagers()).items.map(one => one.url).toSorted()
  await expect.poll(managers).toEqual([first.url, second.url].toSorted())
  await first.stop()
  await expect.poll(() => managers().catch(() => [])).toEqual([second.url])
})

/** Forwards each connection to the first of the ports at which something listens. */
async function startBalancer(ports: readonly number[]) {
  const server = createServer(client => {
    const dial = ([port, ...others]: readonly number[]) => {
      if (port === undefined) return client.destroy()
      const manager = connect(port, '127.0.0.1')
      let isConnected = false
      manager.once('connect', () => {
        isConnected = true
        client.pipe(manager).pipe(client)
      })
      manager.once('error', () => (isConnected ? client.destroy() : dial(others)))
      manager.once('close', () => isConnected && client.destroy())
      client.once('close', () => manager.destroy())
    }
    client.on('error', () => undefined)
    dial(ports)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close()
      await Promise.resolve()
    },
  }
}
