import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Session } from '#manager/contract'
import { type Lab, type LabHost, startLab } from '../fixtures/lab.ts'

const run = promisify(execFile)

/** Debian with Open MPI, as a user would make it: nothing in it knows Berth. */
const MPI_IMAGE = 'berth-test/mpi:1'
const RECIPE = `FROM debian:trixie-slim
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends openmpi-bin python3-mpi4py && rm -rf /var/lib/apt/lists/*
`

let lab: Lab
let api: ApiClient
let hosts: readonly LabHost[]

beforeAll(async () => {
  const opening = startLab({ hosts: ['mpi-one', 'mpi-two', 'mpi-three'], isNetworked: true })
  // The lab ends also if there is no image.
  const [made] = await Promise.allSettled([makeImage(), opening])
  lab = await opening
  if (made.status === 'rejected') throw made.reason
  ;({ api, hosts } = lab)
  await api.updateResourceGroup({ params: { name: 'default' }, body: { options: { spreadClusters: true } } })
  // The images are loaded in turn, because the disk is the bottleneck.
  for (const { engine } of hosts) await engine.load(MPI_IMAGE)
})
afterAll(() => lab[Symbol.asyncDispose]())

/** Makes the image with packages of the distribution, once: it stays on the engine, like the other images of tests. */
async function makeImage(): Promise<void> {
  const found = await run('docker', ['image', 'inspect', MPI_IMAGE]).catch(() => undefined)
  if (found) return
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-'))
  try {
    await writeFile(join(directory, 'Dockerfile'), RECIPE)
    await run('docker', ['build', '--network', 'host', '-t', MPI_IMAGE, directory], { maxBuffer: 2 ** 26 })
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Each of the programs adds the rank of all others to its own, and says where it runs. */
const PROGRAM = `import os, socket
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
ring = world.sendrecv(world.rank, (world.rank + 1) % world.size, source=(world.rank - 1) % world.size)
print('rank', world.rank, 'of', world.size, 'on', socket.gethostname(), 'has', total, ring, flush=True)
`
/** The other containers stay, for mpirun comes to them by ssh. */
const COMMAND = `[ "$BERTH_CLUSTER_ROLE" = main1 ] || exec sleep infinity
env | grep -E '^(BERTH_CLUSTER|BACKENDAI_CLUSTER|MASTER_|NNODES|NODE_RANK|NCCL_|GLOO_)' | sort
cat $BERTH_CLUSTER_HOSTFILE
for host in sub1 sub2; do ssh $host 'echo $NODE_RANK $BACKENDAI_CLUSTER_HOST $(/opt/berth/bin/busybox ip -4 -o address show $NCCL_SOCKET_IFNAME | grep -c 10.212)'; done
mpirun --hostfile $BERTH_CLUSTER_HOSTFILE python3 -c "$PROGRAM"`

test('mpirun starts its programs on three hosts, and they compute together', async () => {
  const { items: agents } = await api.listAgents()
  const cpus = Math.min(...agents.map(({ capacity }) => Number(capacity.cpu)))
  const {
    items: [session],
  } = await api.createSession({
    body: {
      image: MPI_IMAGE,
      resources: { cpu: String(cpus * 0.8), mem: '512m' },
      clusterSize: 3,
      clusterMode: 'multi-host',
      kind: 'batch',
      environ: { PROGRAM },
      startupCommand: COMMAND,
    },
  })
  if (!session) throw new Error('no session')
  const params = { id: session.id }
  const pick = ({ status, reason }: Session) => ({ status, why: reason.message })
  await expect
    .poll(async () => pick(await api.getSession({ params })), { interval: 500 })
    .toMatchObject({ status: 'TERMINATED' })
  const { kernels } = await api.getSession({ params })
  const { text } = await api.getSessionLogs({ params, query: {} })
  expect(new Set(kernels.map(({ agentId }) => agentId)).size).toBe(3)
  const lines = text.split('\n')
  for (const [rank, role, left] of [
    [0, 'main1', 2],
    [1, 'sub1', 0],
    [2, 'sub2', 1],
  ] as const)
    expect(lines).toContain(`rank ${rank} of 3 on ${role} has 3 ${left}`)
  // No warning of mpirun, ssh or the network.
  expect(lines.filter(line => /warn|denied|password|authenticity/i.test(line))).toEqual([])
  expect(lines).toEqual(expect.arrayContaining(EXPECTED))
})

const EXPECTED = [
  'BACKENDAI_CLUSTER_HOST=main1',
  'BACKENDAI_CLUSTER_HOSTS=main1,sub1,sub2',
  'BACKENDAI_CLUSTER_IDX=1',
  'BACKENDAI_CLUSTER_REPLICAS=main:1,sub:2',
  'BACKENDAI_CLUSTER_ROLE=main',
  'BACKENDAI_CLUSTER_SIZE=3',
  'BERTH_CLUSTER_INDEX=0',
  'MASTER_ADDR=main1',
  'MASTER_PORT=29500',
  'NNODES=3',
  'NODE_RANK=0',
  'NCCL_SOCKET_IFNAME=eth1',
  'main1 slots=1',
  // Answers of the other hosts by ssh: their variables, and that the interface for frameworks is in the network between hosts.
  '1 sub1 1',
  '2 sub2 1',
]
