import { expect, test } from 'vitest'
import { AgentId, SessionId } from '#manager/contract'
import { dropOversubscribed } from './commit.ts'
import { type AgentSnapshot, type Placement } from './plan/index.ts'

const id = AgentId.parse('a0000000-0000-7000-8000-000000000001')
const sessionId = (n: number) => SessionId.parse(`50000000-0000-7000-8000-${String(n).padStart(12, '0')}`)
const agent: AgentSnapshot = {
  id,
  name: 'agent',
  capacity: { cpu: 4000, 'cuda.device': 2 },
  occupied: { cpu: 1000, 'cuda.device': 1 },
  devices: [
    { uuid: 'A', slot: 'cuda.device', total: 1, occupied: 1 },
    { uuid: 'B', slot: 'cuda.device', total: 1, occupied: 0 },
  ],
  images: new Set(),
  schedulable: true,
  connected: true,
}
const placement = (n: number, cpu: number, uuid?: string): Placement => ({
  sessionId: sessionId(n),
  agentId: id,
  requested: { cpu, ...(uuid ? { 'cuda.device': 1 } : {}) },
  devices: uuid ? [{ uuid, slot: 'cuda.device', amount: 1 }] : [],
})
const kept = (...placements: Placement[]) =>
  dropOversubscribed(placements, new Map([[id, agent]])).map(p => placements.indexOf(p))

test('placements are kept as long as they fit beside those before them', () => {
  expect(kept(placement(1, 2000), placement(2, 2000), placement(3, 1000))).toEqual([0, 2])
})

test('a device that was taken meanwhile, or by an earlier placement, is not assigned again', () => {
  expect(kept(placement(1, 100, 'A'), placement(2, 100, 'B'), placement(3, 100, 'B'))).toEqual([1])
})

test('an agent that is gone gets nothing', () => {
  expect(dropOversubscribed([placement(1, 1)], new Map())).toEqual([])
})
