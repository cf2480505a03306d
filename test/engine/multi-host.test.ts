import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KernelLabel } from '#agent/contract'
import { type ApiClient, type Session } from '#manager/contract'
import { BUSYBOX_IMAGE } from '../fixtures/docker.ts'
import { type Lab, type LabHost, startLab } from '../fixtures/lab.ts'

const run = promisify(execFile)
const BUSYBOX = '/opt/berth/bin/busybox'

let lab: Lab
let api: ApiClient
let hosts: readonly LabHost[]

beforeAll(async () => {
  lab = await startLab({ hosts: ['gang-one', 'gang-two', 'gang-three'], isNetworked: true })
  ;({ api, hosts } = lab)
  await api.updateResourceGroup({ params: { name: 'default' }, body: { options: { spreadClusters: true } } })
})
afterAll(() => lab[Symbol.asyncDispose]())

const SERVE = `while true; do echo "I am $BERTH_CLUSTER_ROLE" | ${BUSYBOX} nc -l -p 4000; done`

async function launch(clusterSize: number): Promise<Session['id']> {
  const { items: agents } = await api.listAgents()
  const cpus = Math.min(...agents.map(({ capacity }) => Number(capacity.cpu)))
  const { items } = await api.createSession({
    body: {
      image: BUSYBOX_IMAGE,
      resources: { cpu: String(cpus * 0.4), mem: '64m' },
      clusterSize,
      clusterMode: 'multi-host',
      startupCommand: SERVE,
    },
  })
  const [session] = items
  if (!session) throw new Error('no session')
  return session.id
}
const show = (id: Session['id']) => api.getSession({ params: { id } })
async function runs(id: Session['id']): Promise<Session> {
  await expect.poll(async () => pick(await show(id)), { interval: 200 }).toMatchObject({ status: 'RUNNING' })
  return show(id)
}
const pick = ({ status, reason }: Session) => ({ status, why: reason.message })

interface Place {
  readonly role: string
  readonly host: LabHost
  readonly container: string
}

/** The containers of a running session, the main one first. */
async function placesOf({ kernels }: Session): Promise<Place[]> {
  return Promise.all(
    kernels.map(async ({ id, role, agentId }) => {
      const host = hosts.find(one => one.agentId === agentId)
      if (!host) throw new Error(`${role} is on no host of the lab`)
      const container = await host.engine.docker('ps', '-q', '--filter', `label=berth.kernel-id=${id}`)
      return { role, host, container }
    }),
  )
}

const inside = ({ host, container }: Place, ...words: string[]) =>
  host.engine.docker('exec', container, BUSYBOX, ...words)
const ask = (place: Place, name: string) =>
  inside(place, 'timeout', '5', BUSYBOX, 'nc', name, '4000').catch((error: unknown) => String(error))
const linksOn = async ({ engine }: LabHost) => {
  const [program, ...prefix] = engine.prefix
  const { stdout } = await run(program ?? '', [...prefix, 'ip', '-o', 'link', 'show', 'type', 'vxlan'])
  return stdout.split('\n').filter(line => line.includes('berthv')).length
}
const networksOn = async ({ engine }: LabHost) =>
  (await engine.docker('network', 'ls', '-q', '--filter', 'label=berth.cluster')).split('\n').filter(Boolean).length

test('containers of one session on three hosts reach each other by name, and nothing remains when it ends', async () => {
  const id = await launch(3)
  const session = await runs(id)
  expect(new Set(session.kernels.map(({ agentId }) => agentId)).size).toBe(3)
  const places = await placesOf(session)
  for (const from of places) {
    for (const { role } of places) await expect.poll(() => ask(from, role)).toBe(`I am ${role}`)
  }
  await api.deleteSession({ params: { id } })
  await expect.poll(async () => (await show(id)).status).toBe('TERMINATED')
  expect(await Promise.all(hosts.map(linksOn))).toEqual([0, 0, 0])
  expect(await Promise.all(hosts.map(networksOn))).toEqual([0, 0, 0])
})

/** The number of the network (VNI) of a session, and the addresses of its containers in it. */
async function networkOf({ host, container }: Place) {
  const text = await host.engine.docker('inspect', '-f', '{{index .Config.Labels "berth.kernel"}}', container)
  const { cluster } = KernelLabel.parse(JSON.parse(text))
  if (!cluster) throw new Error('no network between hosts')
  return cluster
}

test('nobody else gets in: no other session, no foreign computer, no program that forges the frames of a host', async () => {
  const id = await launch(3)
  const places = await placesOf(await runs(id))
  const [main, sub] = places
  if (!main || !sub) throw new Error('no containers')
  await expect.poll(() => ask(main, 'sub1')).toBe('I am sub1')
  const { id: vni, kernels } = await networkOf(main)
  const target = kernels.find(({ role }) => role === 'sub1')
  if (!target) throw new Error('no sub1')

  const other = await launch(3)
  const others = await placesOf(await runs(other))
  await expect.poll(() => ask(others[0] as Place, 'sub1')).toBe('I am sub1')
  for (const place of others) expect(await ask(place, target.address)).not.toContain('I am')

  await using stranger = await (lab.network as NonNullable<Lab['network']>).stranger()
  const [program = '', ...prefix] = stranger.prefix
  const there = (...words: string[]) => run(program, [...prefix, ...words])
  await there(
    'ip',
    'link',
    'add',
    'forged',
    'type',
    'vxlan',
    'id',
    String(vni),
    'dstport',
    '4790',
    'local',
    stranger.address,
  )
  await there('bridge', 'fdb', 'append', '00:00:00:00:00:00', 'dev', 'forged', 'dst', target.host)
  const subnet = target.address.split('.').slice(0, 3).join('.')
  const last = Number(target.address.split('.')[3])
  // An address of the subnet that no container has.
  await there('ip', 'address', 'add', `${subnet}.${last - (last % 16) + 14}/28`, 'dev', 'forged')
  await there('ip', 'link', 'set', 'forged', 'up')
  const talk = `require('net').connect(4000, '${target.address}').on('data', said => { console.log(String(said)); process.exit() })`
  const hears = async () => {
    const { stdout } = await there('timeout', '5', process.execPath, '-e', talk).catch(() => ({ stdout: '' }))
    return stdout.trim()
  }
  expect(await hears()).toBe('')
  // The same frames come in once the host is told that the stranger is a host of the session: the firewall kept them out before.
  const [inHost = '', ...hostPrefix] = sub.host.engine.prefix
  const onHost = (...words: string[]) => run(inHost, [...hostPrefix, ...words])
  const links = (await onHost('ip', '-o', 'link', 'show', 'type', 'vxlan')).stdout
  const link = `berthv${vni.toString(16)}`
  expect(links).toContain(link)
  await onHost('bridge', 'fdb', 'append', '00:00:00:00:00:00', 'dev', link, 'dst', stranger.address)
  await onHost('iptables', '-I', 'INPUT', '-p', 'udp', '--dport', '4790', '-s', stranger.address, '-j', 'ACCEPT')
  await expect.poll(hears).toBe('I am sub1')

  // Programs of a host may not send to the port of another host.
  const send = [
    '-e',
    `require('dgram').createSocket('udp4').send('x', 4790, '${target.host}', e => process.exit(e ? 3 : 0))`,
  ]
  const mainPrefix = main.host.engine.prefix
  await expect(run(mainPrefix[0] ?? '', [...mainPrefix.slice(1), process.execPath, ...send])).rejects.toMatchObject({
    code: 3,
  })
  await Promise.all([id, other].map(one => api.deleteSession({ params: { id: one } })))
  for (const one of [id, other]) await expect.poll(async () => (await show(one)).status).toBe('TERMINATED')
})

test('it goes on while an engine is killed, and ends with a container that dies', async () => {
  const id = await launch(3)
  const places = await placesOf(await runs(id))
  const [main, sub, third] = places
  if (!main || !sub || !third) throw new Error('no containers')
  await expect.poll(() => ask(main, 'sub1')).toBe('I am sub1')
  await sub.host.engine.kill()
  expect(await ask(main, 'sub1')).toBe('I am sub1')
  await sub.host.engine.start()
  await expect.poll(() => ask(main, 'sub1')).toBe('I am sub1')
  expect((await show(id)).status).toBe('RUNNING')
  await third.host.engine.docker('kill', third.container)
  await expect.poll(async () => (await show(id)).status).toBe('TERMINATED')
  expect((await show(id)).reason.code).toBe('kernel_failed')
  expect(await Promise.all(hosts.map(linksOn))).toEqual([0, 0, 0])
})
