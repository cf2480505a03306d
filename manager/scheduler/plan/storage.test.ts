import { expect, test } from 'vitest'
import { concentrated, fifo, plan } from './index.ts'
import { agentId, anAgent, aSession, GiB, sessionId } from './plan-fixtures.ts'
import { type GroupSnapshot } from './snapshot.ts'

const small = { cpu: 1000, mem: GiB }
const large = { cpu: 4000, mem: 8 * GiB }
const HOMES = { marker: 'm1', name: 'homes' }
const ARCHIVE = { marker: 'm2', name: 'archive' }
const run = (snapshot: GroupSnapshot) => plan(snapshot, fifo, concentrated)

test('a session with folders starts where their storages are, beside equal ones without folders', () => {
  const agents = [anAgent(1, large), anAgent(2, large, { storage: new Set(['m1']) })]
  const pending = [aSession(1, small, { storage: [HOMES] }), aSession(2, small)]
  const { placements } = run({ agents, pending })
  expect(placements.find(({ sessionId: id }) => id === sessionId(1))?.agentId).toBe(agentId(2))
  expect(placements).toHaveLength(2)
})

test('a session that needs two storages starts where both are', () => {
  const storage = (...markers: string[]) => ({ storage: new Set(markers) })
  const agents = [
    anAgent(1, large, storage('m1')),
    anAgent(2, large, storage('m2')),
    anAgent(3, large, storage('m1', 'm2')),
  ]
  const { placements } = run({ agents, pending: [aSession(1, small, { storage: [HOMES, ARCHIVE] })] })
  expect(placements.map(placement => placement.agentId)).toEqual([agentId(3)])
})

test.each([
  ['no host has the storage', [anAgent(1, large)], 'no host that takes sessions has mounted'],
  [
    'the host with the storage is not connected',
    [anAgent(1, large), anAgent(2, large, { storage: new Set(['m1']), connected: false })],
    'no host that takes sessions has mounted',
  ],
  [
    'the host with the storage lacks the image',
    [anAgent(1, large), anAgent(2, large, { storage: new Set(['m1']), images: new Set() })],
    'No host has both the storage "homes" and the image python',
  ],
  [
    'the host with the storage is too small',
    [anAgent(1, large), anAgent(2, { cpu: 500, mem: GiB }, { storage: new Set(['m1']) })],
    'are too small for this session',
  ],
])('%s: the session waits with the reason', (_, agents, message) => {
  const { placements, reasons } = run({ agents, pending: [aSession(1, small, { storage: [HOMES] })] })
  expect(placements).toEqual([])
  expect(reasons.get(sessionId(1))).toMatchObject({ code: 'storage_nowhere' })
  expect(reasons.get(sessionId(1))?.message).toContain(message)
})

test('a full host with the storage gives a reason of capacity', () => {
  const agents = [anAgent(1, large), anAgent(2, small, { storage: new Set(['m1']), occupied: small })]
  const { reasons } = run({ agents, pending: [aSession(1, small, { storage: [HOMES] })] })
  expect(reasons.get(sessionId(1))?.code).toBe('capacity')
})

test('the reason of a session whose files are on a host without the storage names that host', () => {
  const agents = [anAgent(1, large), anAgent(2, large, { storage: new Set(['m1']) })]
  const { reasons } = run({ agents, pending: [aSession(1, small, { storage: [HOMES], onlyOn: agentId(1) })] })
  expect(reasons.get(sessionId(1))).toMatchObject({ code: 'storage_nowhere' })
  expect(reasons.get(sessionId(1))?.message).toContain('host agent-1, which has not mounted the storage "homes"')
})

test('a reservation stays with its agent while the agent is briefly away, though its storages are unknown then', () => {
  const now = 60 * 60_000
  const full = anAgent(1, small, {
    storage: new Set(['m1']),
    occupied: small,
    occupants: [{ slots: small, devices: [], latestEnd: now + 60_000 }],
  })
  const pending = [aSession(1, small, { storage: [HOMES] })]
  const before = run({ agents: [full], pending, now })
  expect(before.reservation?.agentId).toBe(agentId(1))
  const away = { ...full, connected: false, storage: new Set<string>() }
  const meanwhile = run({ agents: [away, anAgent(2, large)], pending, now, reservation: before.reservation })
  expect(meanwhile.reservation).toEqual(before.reservation)
})
