import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type KernelSpec } from '#agent/contract'
import { testSet } from '../../build/bootstrap/test-sets.ts'
import { KernelId, SessionId } from '#manager/contract'
import { hostIptables } from '../../agent/network/iptables.ts'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { BUSYBOX_IMAGE, busyboxImage, TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'
import { METADATA, NAME_SERVER, openSmallInternet, type SmallInternet, WEB } from '../fixtures/small-internet.ts'

/**
 * Sessions without network, and with an allow list, tried from inside: a real engine in a network of its own, a real agent with its rules,
 * and a small internet behind them that lists all that arrives.
 */
const stack = new AsyncDisposableStack()
let engine: Engine
let manager: FakeManager
let home: AgentHome
let agent: AgentProcess
let internet: SmallInternet

/** The others of these tests take half a minute each. */
const inAll = testSet(process.env) === 'all' ? test : test.skip

const NAMES = ['allowed.example.org', '*.wide.example.org']
const PROXY_PORT = 8489

beforeAll(async () => {
  manager = stack.use(await startFakeManager())
  engine = stack.use(await startEngine({ dns: [NAME_SERVER] }))
  await busyboxImage()
  await engine.load(BUSYBOX_IMAGE, TOOLBOX_IMAGE)
  internet = stack.use(
    await openSmallInternet(engine, {
      'allowed.example.org': WEB,
      'deep.wide.example.org': WEB,
      'inside.wide.example.org': '10.213.0.1',
      'meta.wide.example.org': METADATA,
      'loop.wide.example.org': '127.0.0.1',
      'host.wide.example.org': '198.18.7.1',
      'free.example.org': WEB,
    }),
  )
  // A program of the host, at all of its addresses.
  const listen = `require('node:net').createServer(socket => socket.end('here')).listen(9999, () => console.log('open'))`
  const program = spawn('env', [...engine.prefix, process.execPath, '-e', listen])
  stack.defer(() => void program.kill('SIGKILL'))
  await once(program.stdout, 'data')
  stack.use(await engine.window(Number(new URL(manager.url).port)))
  home = stack.use(await createAgentHome())
  agent = await start({ BERTH_JOIN: manager.join() })
  stack.defer(() => agent[Symbol.asyncDispose]())
  await vi.waitFor(() => expect(manager.report?.network.restricts).toBe(true), 120_000)
})
afterAll(() => stack.disposeAsync())
afterEach(async () => {
  for (const { kernelId } of manager.report?.kernels ?? [])
    await manager.request('destroy_kernel', { kernelId, graceMs: 0 })
})

async function start(more: Readonly<Record<string, string>> = {}): Promise<AgentProcess> {
  const environment = { BERTH_MANAGER_URL: manager.url, DOCKER_HOST: engine.host, ...more }
  const started = await spawnAgent(home, environment, engine.prefix)
  await started.firstLine
  return started
}

interface Inside {
  readonly spec: KernelSpec
  readonly address: string
  readonly gateway: string
  readonly logs: () => Promise<string>
  /** Output of a script in the session, with its exit code at the end. */
  sh(script: string): Promise<string>
}

async function launch(changes: Partial<KernelSpec> = {}): Promise<Inside> {
  const spec = aKernelSpec(changes)
  const { containerId } = await manager.request('create_kernel', { spec, startWithinMs: 60_000 })
  const address = await engine.docker(
    'inspect',
    '-f',
    '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}',
    containerId,
  )
  const [a, b, c, d = ''] = address.split('.')
  return {
    spec,
    address,
    gateway: `${a}.${b}.${c}.${Number(d) - (Number(d) % 16) + 1}`,
    logs: () => engine.docker('logs', containerId),
    sh: script =>
      engine.docker('exec', containerId, '/opt/berth/bin/busybox', 'sh', '-c', `(${script}) 2>&1; echo "=$?"`),
  }
}

/** Bytes to a port: the answer, or nothing. The connection is given up after two seconds. */
const tcp = (host: string, port: number, bytes = '') =>
  `b=/opt/berth/bin/busybox; { printf '${bytes}'; sleep 2; } | $b timeout 2 $b nc ${host} ${port}`

/** Ways out of a session that depend on no name. All are tried at once. */
const waysOut = ({ gateway }: Inside, other: string) => ({
  web: tcp(WEB, 80, 'GET / HTTP/1.0\\r\\n\\r\\n'),
  'embedded resolver':
    '/opt/berth/bin/busybox timeout 4 /opt/berth/bin/busybox nslookup secret-1.free.example.org 127.0.0.11',
  'embedded resolver, usual':
    '/opt/berth/bin/busybox timeout 4 /opt/berth/bin/busybox nslookup secret-2.free.example.org',
  'name server by UDP': `/opt/berth/bin/busybox timeout 2 /opt/berth/bin/busybox nslookup secret-3.free.example.org ${NAME_SERVER}`,
  'name server by TCP': tcp(NAME_SERVER, 53, 'x'),
  'resolver on the host': `/opt/berth/bin/busybox timeout 2 /opt/berth/bin/busybox nslookup secret-4.free.example.org ${gateway}`,
  'name server of the host': `/opt/berth/bin/busybox timeout 2 /opt/berth/bin/busybox nslookup secret-5.free.example.org ${internet.hostNameServer}`,
  ping: `/opt/berth/bin/busybox timeout 2 /opt/berth/bin/busybox ping -c 1 -W 1 ${WEB}`,
  'ping of the host': `/opt/berth/bin/busybox timeout 2 /opt/berth/bin/busybox ping -c 1 -W 1 ${gateway}`,
  'another session': tcp(other, 7000),
  'the host': tcp(gateway, 9999),
  'another address of the host': tcp('198.18.7.1', 9999),
  metadata: tcp(METADATA, 80, 'GET / HTTP/1.0\\r\\n\\r\\n'),
})

/** Names of the ways on which something came back, or a program said that it worked. */
async function open(session: Inside, other: string): Promise<string[]> {
  const ways = Object.entries(waysOut(session, other))
  const found = await Promise.all(
    ways.map(async ([name, script]) => {
      const said = await session.sh(script)
      const works = /internet|secret$|here|1 packets received|Address.*93\.184/m.test(said)
      return works ? [name] : []
    }),
  )
  return found.flat().toSorted()
}

/** A session that answers on port 7000. */
async function surroundings(): Promise<Inside> {
  const answering = `b=/opt/berth/bin/busybox; while :; do echo here | $b nc -l -p 7000 >/dev/null; done`
  return await launch({ startupCommand: answering })
}

test('a session without network reaches nothing, from its first moment on', async () => {
  const other = await surroundings()
  const before = internet.arrived.length
  // The program of the session tries from the moment in which it starts.
  const b = '/opt/berth/bin/busybox'
  const startupCommand = `i=0; while [ $i -lt 20 ]; do echo x | ${b} timeout 1 ${b} nc ${WEB} 80 && echo OPEN; echo x | ${b} timeout 1 ${b} nc ${WEB} 443 && echo OPEN; i=$((i+1)); done; echo tried`
  const session = await launch({ allowedNames: [], startupCommand, kind: 'interactive' })
  expect(await open(session, other.address)).toEqual([])
  await expect.poll(() => session.logs()).toContain('tried')
  expect(await session.logs()).not.toContain('OPEN')
  expect(internet.arrived.slice(before)).toEqual([])
  expect(await session.sh('env')).not.toMatch(/_proxy/i)
  // No way by IPv6: not even an address of the link.
  expect(await session.sh('cat /proc/net/if_inet6 2>/dev/null | grep -v " lo$"')).toBe('=1')
  expect(
    await session.sh(tcp(session.gateway, PROXY_PORT, 'CONNECT allowed.example.org:443 HTTP/1.1\\r\\n\\r\\n')),
  ).not.toMatch(/HTTP/)
  // Apps still open, because the agent connects to the session.
  const { inject } = await manager.request('start_app', {
    kernelId: session.spec.kernelId,
    app: 'sshd',
    timeoutMs: 20_000,
  })
  expect(inject).toBeNull()
})

test('the same ways lead out of a usual session, so the test would see them', async () => {
  const other = await surroundings()
  const session = await launch()
  expect(await open(session, other.address)).toContain('web')
  expect(internet.arrived).toEqual(
    expect.arrayContaining(['dns secret-2.free.example.org', 'dns secret-3.free.example.org', 'tcp dns']),
  )
})

test('a session with an allow list reaches its names by the proxy, and nothing else', async () => {
  const other = await surroundings()
  const before = internet.arrived.length
  const session = await launch({ allowedNames: NAMES })
  expect(await session.sh('wget -q -O - http://allowed.example.org/page')).toBe('internet=0')
  expect(await session.sh('wget -q -O - http://deep.wide.example.org/')).toBe('internet=0')
  expect(internet.arrived.slice(before).filter(line => line.startsWith('web'))).toEqual([
    'web GET /page allowed.example.org',
    'web GET / deep.wide.example.org',
  ])
  const asked = internet.arrived.length
  expect(await open(session, other.address)).toEqual([])
  expect(internet.arrived.slice(asked)).toEqual([])

  const proxy = (bytes: string) => session.sh(tcp(session.gateway, PROXY_PORT, bytes))
  const connectTo = (target: string) => proxy(`CONNECT ${target} HTTP/1.1\\r\\nHost: allowed.example.org\\r\\n\\r\\n`)
  expect(await connectTo('allowed.example.org:443')).toMatch(/^HTTP\/1.1 200/)
  const refused = [
    `${WEB}:443`,
    '[::ffff:93.184.216.34]:443',
    '1572395042:443',
    'allowed.example.org:8080',
    'allowed.example.org:53',
    'free.example.org:443',
    'wide.example.org:443',
    'inside.wide.example.org:443',
    'meta.wide.example.org:80',
    'loop.wide.example.org:80',
    'host.wide.example.org:80',
    `${METADATA}:80`,
    `${session.gateway}:9999`,
    `${other.address}:7000`,
  ]
  const answers = await Promise.all(refused.map(connectTo))
  for (const [index, answer] of answers.entries()) expect(answer, refused[index]).toMatch(/^HTTP\/1.1 40[03]/)
  // The Host field changes nothing, and a second request behind a refused one is not read.
  expect(await proxy('GET http://free.example.org/ HTTP/1.1\\r\\nHost: allowed.example.org\\r\\n\\r\\n')).toMatch(
    /^HTTP\/1.1 403/,
  )
  const host = await proxy('GET http://allowed.example.org/x HTTP/1.0\\r\\nHost: free.example.org\\r\\n\\r\\n')
  expect(host).toMatch(/internet/)
  expect(internet.arrived.at(-1)).toBe('web GET /x allowed.example.org')
  const smuggled =
    'POST http://allowed.example.org/s HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET http://allowed.example.org/hidden HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n'
  expect(await proxy(smuggled)).not.toMatch(/internet/)
  expect(
    internet.arrived.filter(line => line.includes('hidden') || line === 'metadata' || line === 'other port'),
  ).toEqual([])
  // The names outside of the list were never looked up.
  expect(internet.arrived.slice(asked)).not.toContain('host dns free.example.org')
  // Another session's list is not reached from here, and this one's not from there.
  const [closed, listed] = await Promise.all([
    launch({ allowedNames: [] }),
    launch({ allowedNames: ['free.example.org'] }),
  ])
  const asThis = tcp(session.gateway, PROXY_PORT, 'CONNECT allowed.example.org:443 HTTP/1.1\\r\\n\\r\\n')
  for (const stranger of [other, closed, listed]) expect(await stranger.sh(asThis)).not.toMatch(/HTTP/)
})

inAll('the rules outlive an agent that is killed, and the proxy comes back with the next one', async () => {
  const session = await launch({ allowedNames: NAMES })
  const closed = await launch({ allowedNames: [] })
  agent.kill('SIGKILL')
  await agent.exited
  const before = internet.arrived.length
  expect(await open(session, closed.address)).toEqual([])
  expect(await open(closed, session.address)).toEqual([])
  expect(await session.sh('wget -q -T 2 -O - http://allowed.example.org/')).not.toMatch(/internet/)
  // Somebody else removes the rules: the network itself has no way out.
  await hostIptables(engine.prefix).run('iptables', ['-F', 'BERTH-FORWARD'])
  expect(await closed.sh(tcp(WEB, 80, 'GET / HTTP/1.0\\r\\n\\r\\n'))).not.toMatch(/internet/)
  expect(internet.arrived.slice(before)).toEqual([])
  agent = await start()
  await expect.poll(() => session.sh('wget -q -O - http://allowed.example.org/')).toBe('internet=0')
  expect(await open(closed, session.address)).toEqual([])
  expect(await session.sh('wget -q -O - http://free.example.org/')).toMatch(/403/)
})

inAll('kernels of one session without network reach each other by name', async () => {
  const sessionId = SessionId.parse(randomUUID())
  const kernel = (role: string) =>
    launch({
      sessionId,
      role,
      clusterSize: 2,
      kernelId: KernelId.parse(randomUUID()),
      allowedNames: [],
      startupCommand: `while :; do echo here | /opt/berth/bin/busybox nc -l -p 7000 >/dev/null; done`,
    })
  const [main, sub] = await Promise.all([kernel('main1'), kernel('sub1')])
  expect(await main.sh(tcp('sub1', 7000))).toMatch(/here/)
  expect(await sub.sh(tcp('main1', 7000))).toMatch(/here/)
  expect(await main.sh(tcp(WEB, 80, 'GET / HTTP/1.0\\r\\n\\r\\n'))).not.toMatch(/internet/)
})
