import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KernelLabel } from '#agent/contract'
import { type ApiClient, type Session } from '#manager/contract'
import { type AgentProcess } from '../fixtures/agent-process.ts'
import { BUSYBOX_IMAGE } from '../fixtures/docker.ts'
import { type Lab, type LabHost, startLab } from '../fixtures/lab.ts'

const run = promisify(execFile)
const BUSYBOX = '/opt/berth/bin/busybox'
const SERVE = `while true; do echo "I am $BERTH_CLUSTER_ROLE" | ${BUSYBOX} nc -l -p 4000; done`

let lab: Lab
let api: ApiClient
let hosts: readonly LabHost[]
/** The present agent of each host, by name. */
const agents = new Map<string, AgentProcess>()

beforeAll(async () => {
  lab = await startLab({ hosts: ['crash-one', 'crash-two', 'crash-three'], isNetworked: true })
  ;({ api, hosts } = lab)
  for (const { name, agent } of hosts) agents.set(name, agent)
  await api.updateResourceGroup({ params: { name: 'default' }, body: { options: { spreadClusters: true } } })
})
afterAll(() => lab[Symbol.asyncDispose]())

const show = (id: Session['id']) => api.getSession({ params: { id } })
const ends = (id: Session['id']) =>
  expect.poll(async () => (await show(id)).status, { interval: 200 }).toBe('TERMINATED')

interface Place {
  readonly role: string
  readonly host: LabHost
  readonly container: string
}

/** A running session with a container on each host, the main one first; no single host has room for all. */
async function launch(): Promise<{ id: Session['id']; places: readonly [Place, Place] }> {
  const { items: all } = await api.listAgents()
  const cpus = Math.min(...all.map(({ capacity }) => Number(capacity.cpu)))
  const resources = { cpu: String(cpus * 0.4), mem: '64m' }
  const body = {
    image: BUSYBOX_IMAGE,
    resources,
    clusterSize: 3,
    clusterMode: 'multi-host',
    startupCommand: SERVE,
  } as const
  const { items } = await api.createSession({ body })
  const id = items[0]?.id
  if (!id) throw new Error('no session')
  const pick = ({ status, reason }: Session) => ({ status, why: reason.message })
  await expect.poll(async () => pick(await show(id)), { interval: 200 }).toMatchObject({ status: 'RUNNING' })
  const places = await Promise.all(
    (await show(id)).kernels.map(async ({ id: kernel, role, agentId }) => {
      const host = hosts.find(one => one.agentId === agentId)
      if (!host) throw new Error(`${role} is on no host of the lab`)
      return {
        role,
        host,
        container: await host.engine.docker('ps', '-q', '--filter', `label=berth.kernel-id=${kernel}`),
      }
    }),
  )
  const [main, sub] = places
  if (!main || !sub) throw new Error('no containers')
  expect(new Set(places.map(place => place.host)).size).toBe(3)
  await expect.poll(() => ask(main, 'sub1')).toBe('I am sub1')
  return { id, places: [main, sub] }
}

const ask = ({ host, container }: Place, name: string) =>
  host.engine
    .docker('exec', container, BUSYBOX, 'timeout', '5', BUSYBOX, 'nc', name, '4000')
    .catch((error: unknown) => String(error))
async function onHost({ engine }: LabHost, ...words: string[]): Promise<string> {
  const [program = '', ...prefix] = engine.prefix
  return (await run(program, [...prefix, ...words])).stdout
}
/** Traces of networks between hosts on a host: links, bridges, networks of the engine, and hosts that the firewall admits. */
async function remains(host: LabHost) {
  const links = await onHost(host, 'ip', '-o', 'link', 'show')
  const networks = await host.engine.docker('network', 'ls', '-q', '--filter', 'label=berth.cluster')
  const rules = await onHost(host, 'iptables', '-S')
  return {
    links: [...links.matchAll(/^\d+: (berth[vx][0-9a-f]+)/gm)].length,
    networks: networks.split('\n').filter(Boolean).length,
    admitted: [...rules.matchAll(/-s \S+ -p udp -m udp --dport 4790 -j RETURN/g)].length,
  }
}
const NOTHING = { links: 0, networks: 0, admitted: 0 }
/** A link, a bridge, a network, and the two other hosts. */
const ONE = { links: 2, networks: 1, admitted: 2 }

async function killAgent(host: LabHost): Promise<void> {
  const agent = agents.get(host.name)
  agent?.kill('SIGKILL')
  await agent?.exited
}
const restart = async (host: LabHost) => void agents.set(host.name, await host.restart())

test('an agent that is killed and started again leaves a running session alone, and sweeps one that ended meanwhile', async () => {
  const { id, places } = await launch()
  const other = await launch()
  const [main, sub] = places
  await killAgent(sub.host)
  expect(await ask(main, 'sub1')).toBe('I am sub1')
  await api.deleteSession({ params: { id: other.id } })
  const [goes] = other.places.filter(place => place.host !== sub.host)
  // The hosts whose agents are there have ended their parts.
  await expect.poll(async () => (goes ? remains(goes.host) : undefined)).toEqual(ONE)
  expect(await remains(sub.host)).toEqual({ links: 4, networks: 2, admitted: 2 })
  await restart(sub.host)
  await ends(other.id)
  await expect.poll(() => remains(sub.host)).toEqual(ONE)
  expect((await show(id)).status).toBe('RUNNING')
  expect(await ask(main, 'sub1')).toBe('I am sub1')
  await api.deleteSession({ params: { id } })
  await ends(id)
  for (const host of hosts) expect(await remains(host)).toEqual(NOTHING)
})

test('what others made is not swept: a vxlan link and a network that are not of Berth', async () => {
  const [host] = hosts
  if (!host) throw new Error('no host')
  await onHost(
    host,
    'ip',
    'link',
    'add',
    'foreign0',
    'type',
    'vxlan',
    'id',
    '77',
    'dstport',
    '4789',
    'local',
    host.address ?? '',
  )
  await host.engine.docker('network', 'create', 'foreign-net')
  await killAgent(host)
  await restart(host)
  const { id } = await launch()
  await api.deleteSession({ params: { id } })
  await ends(id)
  expect(await onHost(host, 'ip', '-o', 'link', 'show', 'type', 'vxlan')).toContain('foreign0')
  expect(await host.engine.docker('network', 'ls', '--format', '{{.Name}}')).toContain('foreign-net')
  await onHost(host, 'ip', 'link', 'del', 'foreign0')
  await host.engine.docker('network', 'rm', 'foreign-net')
})

test('a host that loses its power ends the session, and nothing of its network is left on either host', async () => {
  const { id, places } = await launch()
  const [, sub] = places
  await killAgent(sub.host)
  const pid = await sub.host.engine.docker('inspect', '-f', '{{.State.Pid}}', sub.container)
  await sub.host.engine.kill()
  process.kill(Number(pid), 'SIGKILL')
  // Links and rules are not kept over a restart of a host.
  for (const link of (await onHost(sub.host, 'ip', '-o', 'link', 'show')).matchAll(/^\d+: (berth[vx][0-9a-f]+)/gm))
    await onHost(sub.host, 'ip', 'link', 'del', link[1] ?? '')
  for (const chain of ['INPUT', 'OUTPUT', 'FORWARD']) await onHost(sub.host, 'iptables', '-F', chain)
  await sub.host.engine.start()
  await restart(sub.host)
  await ends(id)
  for (const host of hosts) await expect.poll(() => remains(host)).toEqual(NOTHING)
  // The hosts carry sessions again.
  const next = await launch()
  await api.deleteSession({ params: { id: next.id } })
  await ends(next.id)
})

/** Shell command of a container: what a kernel says at its port. */
const KNOCK = (address: string) => `/bin/nc -w 3 ${address} 4000 < /dev/null`

test('a container of somebody else on a host of the session does not get in, neither by address nor with forged frames', async () => {
  const { id, places } = await launch()
  const [main, sub] = places
  const text = await main.host.engine.docker('inspect', '-f', '{{index .Config.Labels "berth.kernel"}}', main.container)
  const { cluster } = KernelLabel.parse(JSON.parse(text))
  const [mine, target] = ['main1', 'sub1'].map(role => cluster?.kernels.find(kernel => kernel.role === role))
  if (!cluster || !mine || !target) throw new Error('no network between hosts')
  const { engine } = main.host
  // With the capabilities that Docker gives to every container, among them raw packets.
  await engine.docker('run', '-d', '--name', 'foreign', '--entrypoint', '/bin/sleep', BUSYBOX_IMAGE, '600')
  const inside = (command: string) =>
    engine.docker('exec', 'foreign', '/bin/sh', '-c', command).catch((error: unknown) => String(error))
  for (const { address } of [mine, target]) expect(await inside(KNOCK(address))).not.toContain('I am')
  // As a second address in the subnet, with a route: it may not even be set.
  expect(
    await inside(`/bin/busybox ip address add ${cluster.subnet.replace(/\.\d+\/28$/, '.14/28')} dev eth0`),
  ).toMatch(/not permitted/i)
  // Datagrams to the port of the other host would come from the address of this one.
  const counted = async () => {
    const rules = await onHost(main.host, 'iptables', '-vS')
    const drops = [...rules.matchAll(/--dport 4790 -c (\d+) \d+ -j DROP/g)]
    return drops.reduce((sum, [, packets]) => sum + Number(packets), 0)
  }
  const before = await counted()
  const pid = await engine.docker('inspect', '-f', '{{.State.Pid}}', 'foreign')
  const send = `const socket = require('dgram').createSocket('udp4')
    let left = 2
    for (const host of ['${target.host}', '${mine.host}']) socket.send('forged', 4790, host, () => --left || socket.close())`
  await run('nsenter', ['-t', pid, '-n', process.execPath, '-e', send])
  expect(await counted()).toBeGreaterThanOrEqual(before + 2)
  expect(await ask(main, 'sub1')).toBe('I am sub1')
  expect(sub.role).toBe('sub1')
  await engine.docker('rm', '-f', 'foreign')
  await api.deleteSession({ params: { id } })
  await ends(id)
})
