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
  // One after the other: the disk is the narrow place.
  for (const { engine } of hosts) await engine.load(MPI_IMAGE)
}, 300_000)
afterAll(() => lab[Symbol.asyncDispose](), 60_000)

async function makeImage(): Promise<void> {
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
for host in sub1 sub2; do ssh $host 'echo $NODE_RANK $BACKENDAI_CLUSTER_HOST; ls /sys/class/net/'; done
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
  const pick = ({ status, reason, exitCode }: Session) => ({ status, why: reason.message, exitCode })
  await expect
    .poll(async () => pick(await api.getSession({ params })), { timeout: 120_000, interval: 500 })
    .toMatchObject({ status: 'TERMINATED' })
  const { kernels, ...ended } = await api.getSession({ params })
  const { text } = await api.getSessionLogs({ params, query: {} })
  console.log(text, pick({ kernels, ...ended }))
})
