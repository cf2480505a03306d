import { addSlots, AgentId, type ResourceSlots, SessionId } from '#manager/contract'
import { type AgentSnapshot, type Occupant, type PendingSession } from './snapshot.ts'

/** Agents and sessions for tests of plans. */
export const GiB = 2 ** 30
export const IMAGE = 'sha256:python'

const id = (prefix: string, n: number) => `${prefix}0000000-0000-7000-8000-${String(n).padStart(12, '0')}`
export const agentId = (n: number) => AgentId.parse(id('a', n))
export const sessionId = (n: number) => SessionId.parse(id('5', n))

export function anAgent(n: number, capacity: ResourceSlots, more: Partial<AgentSnapshot> = {}): AgentSnapshot {
  const devices = (slot: 'cuda.device' | 'cuda.shares', total: number) =>
    Array.from({ length: Math.round((capacity[slot] ?? 0) / total) }, (_, index) => {
      return { uuid: `${slot}-${index}`, slot, total, occupied: 0 }
    })
  return {
    id: agentId(n),
    name: `agent-${n}`,
    capacity,
    occupied: {},
    devices: [...devices('cuda.device', 1), ...devices('cuda.shares', 100)],
    images: new Set([IMAGE]),
    schedulable: true,
    connected: true,
    ...more,
  }
}

export function aSession(n: number, requested: ResourceSlots, more: Partial<PendingSession> = {}): PendingSession {
  return {
    id: sessionId(n),
    ownerId: 'someone',
    enqueuedAt: n,
    requested,
    imageDigest: IMAGE,
    image: 'python',
    failedAgents: [],
    ...more,
  }
}

/** The agent with these occupants running on it. */
export function busy(agent: AgentSnapshot, occupants: readonly Occupant[]): AgentSnapshot {
  const given = occupants.flatMap(occupant => occupant.devices)
  return {
    ...agent,
    occupants,
    occupied: occupants.map(occupant => occupant.slots).reduce(addSlots, {}),
    devices: agent.devices.map(device => ({
      ...device,
      occupied: given.filter(d => d.uuid === device.uuid).reduce((sum, d) => sum + d.amount, 0),
    })),
  }
}
