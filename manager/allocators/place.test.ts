import { expect, test } from 'vitest'
import { AgentId, type Device, SessionId } from '#manager/contract'
import { type PendingSession } from '../scheduler/plan/index.ts'
import { type AgentRow } from '../store/agents/agents.ts'
import { newId } from '../store/new-id.ts'
import { nodeOf, placementOn } from './place.ts'

const SESSION: PendingSession = {
  id: newId(SessionId),
  ownerId: 'a',
  enqueuedAt: 0,
  requested: { cpu: 1000, mem: 2 ** 30, 'cuda.device': 1 },
  imageDigest: null,
  image: 'a',
  failedAgents: [],
}
const gpu = (uuid: string, more: Partial<Device> = {}): Device => ({
  uuid,
  model: 'A100',
  slot: 'cuda.device',
  memBytes: 1,
  mode: 'whole',
  isolation: 'whole',
  isolationReason: null,
  problem: null,
  plugin: 'nvidia',
  ...more,
})
/** Only the columns that count. */
const agent = (name: string, devices: readonly Device[] = [gpu('A'), gpu('B'), gpu('C')]) =>
  ({ id: newId(AgentId), name, devices }) as unknown as AgentRow
const G1 = agent('g1')

test('the granted GPUs are those at their places in the order of the agent', () => {
  expect(placementOn([{ name: 'g1', gpus: [1] }], SESSION, [agent('g2'), G1])).toEqual({
    placement: {
      sessionId: SESSION.id,
      agentId: G1.id,
      requested: SESSION.requested,
      devices: [{ uuid: 'B', slot: 'cuda.device', amount: 1 }],
    },
  })
})

test('each kernel of a session gets GPUs of its own', () => {
  const found = placementOn([{ name: 'g1', gpus: [0, 2] }], { ...SESSION, clusterSize: 2 }, [G1])
  expect(found).toMatchObject({ placement: { kernels: [[{ uuid: 'A' }], [{ uuid: 'C' }]], requested: { cpu: 2000 } } })
})

test.each([
  ['g1.example.org', 'g1'],
  ['g1', 'G1.example.org'],
])('node %s is agent %s', (node, name) =>
  expect(placementOn([{ name: node, gpus: [0] }], SESSION, [agent(name)])).toHaveProperty('placement'),
)

test.each([
  ['no agent of the name', [{ name: 'g9', gpus: [0] }], [G1], 'slurm_node_unknown'],
  ['two agents that may be meant', [{ name: 'g1', gpus: [0] }], [agent('g1.a'), agent('g1.b')], 'slurm_node_unknown'],
  [
    'two nodes',
    [
      { name: 'g1', gpus: [0] },
      { name: 'g2', gpus: [0] },
    ],
    [G1, agent('g2')],
    'slurm_nodes_other',
  ],
  ['no node', [], [G1], 'slurm_nodes_other'],
  ['a GPU that the agent does not have', [{ name: 'g1', gpus: [3] }], [G1], 'slurm_gpus_unknown'],
  ['too few GPUs', [{ name: 'g1', gpus: [] }], [G1], 'slurm_gpus_fewer'],
  [
    'a GPU with a problem',
    [{ name: 'g1', gpus: [0] }],
    [agent('g1', [gpu('A', { problem: 'x' })])],
    'slurm_gpus_unknown',
  ],
  [
    'a shared GPU',
    [{ name: 'g1', gpus: [0] }],
    [agent('g1', [gpu('A', { slot: 'cuda.shares', mode: 'shared' })])],
    'slurm_gpus_unknown',
  ],
] as const)('a grant with %s is not used', (_, nodes, agents, cause) =>
  expect(placementOn(nodes, SESSION, agents)).toMatchObject({ unmatched: { cause } }),
)

test.each([
  ['g1', ['g1', 'g2'], 'g1'],
  ['g1.lab.example.org', ['g1', 'g2'], 'g1'],
  ['g1', ['g1.lab', 'g2.lab'], 'g1.lab'],
  ['g1', ['g1.lab', 'g1.hpc'], undefined],
  ['g3', ['g1', 'g2'], undefined],
])('the node of agent %s among %j is %s', (name, nodes, node) => expect(nodeOf({ name }, nodes)).toBe(node))

test('GPUs that the session has not chosen are not used, and the grant is given back', () => {
  const other = { ...SESSION, gpu: { model: 'H100' } }
  expect(placementOn([{ name: 'g1', gpus: [1] }], other, [G1])).toMatchObject({
    unmatched: { cause: 'slurm_gpus_other' },
    isLasting: true,
  })
  expect(placementOn([{ name: 'g1', gpus: [1] }], { ...SESSION, gpu: { model: 'A100' } }, [G1])).toHaveProperty(
    'placement',
  )
})

const TWO = [
  { name: 'g1', gpus: [0] },
  { name: 'g2', gpus: [1] },
]
const APART: PendingSession = { ...SESSION, clusterSize: 2, clusterMode: 'multi-host' }

test('a grant of two nodes is for a session over several hosts only: each kernel is on the agent of a node, with the GPUs there', () => {
  const g2 = agent('g2', [gpu('D'), gpu('E')])
  expect(placementOn(TWO, { ...SESSION, clusterSize: 2 }, [G1, g2])).toMatchObject({
    unmatched: { cause: 'slurm_nodes_other', values: { nodes: 'g1, g2', needed: 1 } },
  })
  const gpuOf = (uuid: string) => ({ uuid, slot: 'cuda.device', amount: 1 })
  expect(placementOn(TWO, APART, [G1, g2])).toEqual({
    placement: {
      sessionId: SESSION.id,
      agentId: G1.id,
      requested: { cpu: 2000, mem: 2 ** 31, 'cuda.device': 2 },
      devices: [gpuOf('A'), gpuOf('E')],
      kernels: [[gpuOf('A')], [gpuOf('E')]],
      hosts: [G1.id, g2.id],
    },
  })
})

test.each([
  ['one node', TWO.slice(0, 1), 'slurm_nodes_other'],
  ['a node without an agent', [TWO[0]!, { name: 'g9', gpus: [0] }], 'slurm_node_unknown'],
  ['one node under two names', [TWO[0]!, { name: 'g1.lab', gpus: [1] }], 'slurm_nodes_other'],
  ['too few GPUs on a node', [TWO[0]!, { name: 'g2', gpus: [] }], 'slurm_gpus_fewer'],
])('a grant of %s is not used for a session over two hosts', (_, nodes, cause) =>
  expect(placementOn(nodes, APART, [G1, agent('g2')])).toMatchObject({ unmatched: { cause } }),
)
