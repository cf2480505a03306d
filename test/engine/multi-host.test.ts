import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
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
  // Each host has room for one of the containers, whatever this machine has.
  await api.updateResourceGroup({ params: { name: 'default' }, body: { options: { spreadClusters: true } } })
}, 120_000)
afterAll(() => lab[Symbol.asyncDispose](), 60_000)

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
  await expect
    .poll(async () => pick(await show(id)), { timeout: 40_000, interval: 200 })
    .toMatchObject({ status: 'RUNNING' })
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

const inside = ({ host, container }: Place, ...words: string[]) => host.engine.docker('exec', container, BUSYBOX, ...words)
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
    for (const { role } of places) await expect.poll(() => ask(from, role), { timeout: 15_000 }).toBe(`I am ${role}`)
  }
  await api.deleteSession({ params: { id } })
  await expect.poll(async () => (await show(id)).status, { timeout: 40_000 }).toBe('TERMINATED')
  expect(await Promise.all(hosts.map(linksOn))).toEqual([0, 0, 0])
  expect(await Promise.all(hosts.map(networksOn))).toEqual([0, 0, 0])
})
