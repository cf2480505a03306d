import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Log } from '../../agent/log.ts'
import { type Firewall, startFirewall } from '../../agent/network/firewall.ts'
import { hostIptables } from '../../agent/network/iptables.ts'
import { parseCidr } from '../../agent/network/subnets.ts'
import { BUSYBOX_IMAGE, busyboxImage } from '../fixtures/docker.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'

/**
 * The rules in the real tables of an engine that makes no chain DOCKER-USER, as Docker 29 does with nftables. Two containers in
 * the agent's range stand for two sessions; the metadata service is a server in a network behind the engine's host.
 */
const run = promisify(execFile)
const stack = new AsyncDisposableStack()
const log = { info() {}, warn() {} } as unknown as Log
const METADATA = '169.254.169.254'
const BEHIND = `berth-behind-${process.pid}`
let engine: Engine
let firewall: Firewall
let addresses: string[]

beforeAll(async () => {
  engine = stack.use(await startEngine({ iptables: false }))
  await busyboxImage()
  await engine.load(BUSYBOX_IMAGE)
  addresses = await Promise.all([0, 16].map(startSession))
  await startMetadata()
  const range = parseCidr('10.213.0.0/16')
  if (!range) throw new Error('a range')
  const iptables = hostIptables(engine.prefix)
  firewall = stack.use(
    startFirewall({ range, deny: [], checkRange: () => Promise.resolve(), iptables, log, onChange() {} }),
  )
})
afterAll(() => stack.disposeAsync())
beforeEach(() => firewall.apply())

async function startSession(base: number): Promise<string> {
  const subnet = `10.213.0.${base}/28`
  await engine.docker('network', 'create', '--subnet', subnet, `net${base}`)
  const server = ['httpd', '-f', '-p', '8080', '-h', '/']
  await engine.docker('run', '-d', '--init', '--name', `s${base}`, '--network', `net${base}`, BUSYBOX_IMAGE, ...server)
  return `10.213.0.${base + 2}`
}

/** A network behind the engine's host, whose only host answers at the link-local address of clouds. */
async function startMetadata(): Promise<void> {
  const inEngine = (...words: string[]) => run('env', [...engine.prefix, ...words])
  const inBehind = (...words: string[]) => run('nsenter', [`--net=/run/netns/${BEHIND}`, ...words])
  await run('ip', ['netns', 'add', BEHIND])
  stack.defer(() => run('ip', ['netns', 'del', BEHIND]).then(() => undefined))
  await inEngine('ip', 'link', 'add', 'behind', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', BEHIND)
  await inEngine('ip', 'addr', 'add', '169.254.0.1/16', 'dev', 'behind')
  await inEngine('ip', 'link', 'set', 'behind', 'up')
  await inBehind('ip', 'addr', 'add', `${METADATA}/16`, 'dev', 'eth0')
  await inBehind('ip', 'link', 'set', 'eth0', 'up')
  await inBehind('ip', 'route', 'add', 'default', 'via', '169.254.0.1')
  const listen = `require('node:http').createServer((_, answer) => answer.end('secret')).listen(80, () => console.log('open'))`
  const server = spawn('nsenter', [`--net=/run/netns/${BEHIND}`, process.execPath, '-e', listen])
  stack.defer(() => void server.kill('SIGKILL'))
  await new Promise(open => server.stdout.once('data', open))
}

/** Outcome of a connection: `open`, or the error of the refused client. */
const outcome = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'open',
    (error: unknown) => (error as { stderr: string }).stderr,
  )
const fromSession = (url: string) =>
  outcome(engine.docker('exec', 's0', 'wget', '-q', '-T', '5', '-O', '-', `http://${url}/`))
const fromUser = (uid: number) => {
  const dial = `require('node:net').connect(8080, '${addresses[0]}').on('connect', () => process.exit(0))`
  const user = ['setpriv', `--reuid=${uid}`, '--clear-groups', process.execPath, '-e', dial]
  return outcome(run('env', [...engine.prefix, ...user]))
}
const rulesOf = async (chain: string) =>
  (await hostIptables(engine.prefix).run('iptables', ['-S', chain])).split('\n').filter(line => line.includes('BERTH'))

test('without DOCKER-USER the rules hold all the same: metadata, other sessions, the host and its users', async () => {
  expect(firewall.state).toEqual({ isolation: 'full', reason: null })
  expect(await rulesOf('FORWARD')).toEqual(['-A FORWARD -j BERTH-FORWARD'])
  const outcomes = await Promise.all([
    fromSession(METADATA),
    fromSession(`${addresses[1]}:8080`),
    fromSession('10.213.0.1:80'),
    fromUser(65_534),
    fromUser(0),
  ])
  const refused = expect.stringMatching(/refused/i) as string
  expect(outcomes).toEqual([refused, refused, refused, refused, 'open'])
})

test('a session reads the metadata service only while the jump is missing', async () => {
  await hostIptables(engine.prefix).run('iptables', ['-D', 'FORWARD', '-j', 'BERTH-FORWARD'])
  expect(await fromSession(METADATA)).toBe('open')
  await firewall.apply()
  expect(await fromSession(METADATA)).toMatch(/refused/)
})

test('the jump moves to DOCKER-USER when the engine makes one again', async () => {
  const { run: iptables } = hostIptables(engine.prefix)
  await iptables('iptables', ['-N', 'DOCKER-USER'])
  await iptables('iptables', ['-I', 'FORWARD', '-j', 'DOCKER-USER'])
  await firewall.apply()
  expect(await rulesOf('FORWARD')).toEqual([])
  expect(await rulesOf('DOCKER-USER')).toEqual(['-A DOCKER-USER -j BERTH-FORWARD'])
  expect(await fromSession(METADATA)).toMatch(/refused/)
})
