import { expect, test } from 'vitest'
import { type Agent, type AgentDevice } from '#manager/contract'
import { gpuBar, problemsOf, slotBars, stateOf, strandedWhy } from './agent-state.ts'

const device = (change: Partial<AgentDevice> = {}) =>
  ({ model: 'H100', mode: 'whole', occupied: '0', problem: null, ...change }) as AgentDevice
const agent = (change: Partial<Agent> = {}) =>
  ({
    status: 'CONNECTED',
    schedulable: true,
    capacity: { cpu: '64', mem: '1073741824', 'cuda.device': '4' },
    occupied: { cpu: '16' },
    devices: [],
    networkIsolationReason: null,
    update: { state: 'current', kind: 'line', version: null, why: null, command: null },
    ...change,
  }) as unknown as Agent

test('an agent is forgotten or lost before it is in maintenance', () => {
  expect(stateOf(agent())).toBe('connected')
  expect(stateOf(agent({ schedulable: false }))).toBe('paused')
  expect(stateOf(agent({ schedulable: false, status: 'LOST' }))).toBe('lost')
  expect(stateOf(agent({ status: 'REVOKED' }))).toBe('forgotten')
})

test('bars are those of slots with a capacity', () => {
  expect(slotBars(agent()).map(({ key, text, fraction }) => [key, text, fraction])).toEqual([
    ['cpu', '16 / 64', 0.25],
    ['mem', '0 B / 1 GiB', 0],
    ['cuda.device', '0 / 4', 0],
  ])
  expect(gpuBar(agent())?.key).toBe('cuda.device')
  expect(gpuBar(agent({ capacity: { cpu: '4' } }))).toBeUndefined()
})

test('problems are those of the connection, the reports, the isolation and each GPU', () => {
  expect(problemsOf(agent())).toEqual([])
  const broken = agent({
    status: 'LOST',
    problem: 'A report failed.',
    networkIsolationReason: 'no firewall',
    devices: [device(), device({ problem: 'Xid 79' })],
    update: { state: 'failed', kind: 'line', version: '2', why: 'No key.', command: null },
  })
  expect(problemsOf(broken)).toEqual([
    expect.stringContaining('no connection'),
    'A report failed.',
    'Sessions are isolated only partly: no firewall',
    'The update failed, and the program of before is in use: No key.',
    'H100: Xid 79',
  ])
})

test('what nobody can get of a GPU has a reason; a GPU that is held or free has none', () => {
  expect(strandedWhy(device(), agent())).toBeNull()
  expect(strandedWhy(device({ occupied: '1', problem: 'Xid 79' }), agent())).toBeNull()
  expect(strandedWhy(device({ problem: 'Xid 79' }), agent())).toBe('Xid 79')
  expect(strandedWhy(device(), agent({ status: 'LOST' }))).toContain('not connected')
  expect(strandedWhy(device(), agent({ schedulable: false }))).toContain('no new session')
  expect(strandedWhy(device({ mode: 'shared', occupied: '0.3' }), agent())).toContain('share')
})
