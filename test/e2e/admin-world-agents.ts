import { type Agent, type AgentDevice } from '#manager/contract'
import { ago } from './console-world.ts'

export const GIB = 2 ** 30
export const agentId = (index: number) =>
  `01990000-0000-7000-8000-0000000ae${String(index).padStart(3, '0')}` as Agent['id']

const device = (index: number, change: Partial<AgentDevice> = {}): AgentDevice => ({
  uuid: `GPU-5b1e2f0c-77aa-4c1d-9f3e-00000000000${index}`,
  model: 'NVIDIA H100 80GB HBM3',
  slot: 'cuda.device',
  memBytes: 80 * GIB,
  mode: 'whole',
  isolation: 'whole',
  isolationReason: null,
  problem: null,
  plugin: 'nvidia',
  occupied: '0',
  utilization: 0,
  memUsedBytes: 0,
  ...change,
})

function anAgent(index: number, change: Partial<Agent> = {}): Agent {
  return {
    id: agentId(index),
    name: `gpu-host-${index}.cluster.example.org`,
    resourceGroup: 'default',
    status: 'CONNECTED',
    schedulable: true,
    capacity: { cpu: '64', mem: String(512 * GIB), 'cuda.device': '4' },
    occupied: { cpu: '27.5', mem: String(201 * GIB), 'cuda.device': '3' },
    devices: [],
    networkIsolation: 'full',
    networkIsolationReason: null,
    version: '0.1.0',
    update: { state: 'current', kind: 'line', version: null, why: null, command: null },
    removal: null,
    engineVersion: '28.4.0',
    lastSeenAt: ago(0),
    managers: [],
    problem: null,
    ...change,
  }
}

export const AGENTS: Agent[] = [
  anAgent(1, {
    devices: [
      device(0, { occupied: '1', utilization: 93, memUsedBytes: 61 * GIB }),
      device(1, {
        slot: 'cuda.shares',
        mode: 'shared',
        isolation: 'enforced',
        occupied: '0.3',
        utilization: 21,
        memUsedBytes: 9 * GIB,
      }),
      device(2),
      device(3, {
        problem: 'The driver does not answer for this GPU (Xid 79).',
        utilization: null,
        memUsedBytes: null,
      }),
    ],
  }),
  anAgent(2, {
    schedulable: false,
    occupied: { cpu: '2', mem: String(8 * GIB) },
    update: {
      state: 'failed',
      kind: 'line',
      version: '0.1.1',
      why: 'The agent has not joined within 120 seconds.',
      command: null,
    },
  }),
  anAgent(3, { status: 'LOST', lastSeenAt: ago(90), problem: null }),
  anAgent(4, {
    removal: {
      step: 'draining',
      sessions: 'wait',
      images: false,
      by: 'admin@localhost',
      at: ago(3),
      problem: null,
      stays: [],
    },
    schedulable: false,
    resourceGroup: 'cpu-only',
    capacity: { cpu: '16', mem: String(64 * GIB) },
    occupied: {},
    networkIsolation: 'partial',
    networkIsolationReason: 'The firewall of this host has no table for Berth.',
  }),
]
