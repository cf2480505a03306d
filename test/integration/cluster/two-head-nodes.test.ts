import { once } from 'node:events'
import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
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
import { blocksOf } from '../../fixtures/page-blocks.ts'
import { startDatabase } from '../../fixtures/postgres.ts'

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
  expect(await cli.run(loginCommand(first.url), password, trusts)).toMatchObject({ code: 0 })
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
