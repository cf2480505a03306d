import { expect, test } from 'vitest'
import { concentrated, fifo, plan, whatIf } from './index.ts'
import { agentId, anAgent, aSession, GiB, IMAGE, sessionId } from './plan-fixtures.ts'
import { type AgentSnapshot, type GroupSnapshot } from './snapshot.ts'

const small = { cpu: 1000, mem: GiB }
const large = { cpu: 4000, mem: 8 * GiB }
const run = (snapshot: GroupSnapshot) => plan(snapshot, fifo, concentrated)
const placed = (snapshot: GroupSnapshot) => run(snapshot).placements.map(placement => placement.agentId)
const runs = (...names: string[]) => ({ architectures: new Set(names) })
const arm = { architecture: 'arm64' }

test('a session starts on a host that runs its image, beside others on any host', () => {
  const agents = [anAgent(1, large, runs('amd64', '386')), anAgent(2, small, runs('amd64', 'arm64'))]
  expect(placed({ agents, pending: [aSession(1, small, arm)] })).toEqual([agentId(2)])
  const pending = [aSession(1, small, arm), aSession(2, small), aSession(3, small, { architecture: 'amd64' })]
  expect(placed({ agents, pending })).toEqual([agentId(2), agentId(1), agentId(1)])
})

test('a host that does not say what it runs is not left out', () => {
  expect(placed({ agents: [anAgent(1, small)], pending: [aSession(1, small, arm)] })).toEqual([agentId(1)])
})

const amd64 = (n: number, more: Partial<AgentSnapshot> = {}) => anAgent(n, large, { ...runs('amd64'), ...more })
const arm64 = (n: number, more: Partial<AgentSnapshot> = {}) => anAgent(n, large, { ...runs('arm64'), ...more })
const pullable = { pullable: true }

test.each([
  [
    'no host runs it',
    [amd64(1)],
    pullable,
    'The image python is for arm64 processors, and no host that takes sessions',
  ],
  [
    'the host that runs it is away',
    [amd64(1), arm64(2, { connected: false })],
    pullable,
    'no host that takes sessions',
  ],
  [
    'the hosts that have it do not run it',
    [amd64(1), arm64(2, { images: new Set() })],
    {},
    'The hosts that have it do not',
  ],
  [
    'the hosts that run it are too small',
    [amd64(1), arm64(2, { capacity: { cpu: 500, mem: GiB } })],
    pullable,
    'the hosts that run such images are too small',
  ],
])('%s: the session waits with the reason, and the outlook says the same', (_, agents, more, message) => {
  const session = aSession(1, small, { ...arm, ...more })
  const { placements, reasons } = run({ agents, pending: [session] })
  expect(placements).toEqual([])
  expect(reasons.get(sessionId(1))).toMatchObject({ code: 'architecture_nowhere' })
  expect(reasons.get(sessionId(1))?.message).toContain(message)
  const how = { sequencer: fifo, selector: concentrated, minimum: {} }
  expect(whatIf({ agents, pending: [] }, session, how)).toMatchObject({
    agentId: null,
    reason: { code: 'architecture_nowhere' },
  })
})

test('a full host that runs it, and hosts without the image, give their own reasons', () => {
  const full = arm64(2, { occupied: large })
  const ofFull = run({ agents: [amd64(1), full], pending: [aSession(1, small, { ...arm, ...pullable })] })
  expect(ofFull.reasons.get(sessionId(1))?.code).toBe('capacity')
  const none = { images: new Set<string>() }
  const bare = run({ agents: [amd64(1, none), arm64(2, none)], pending: [aSession(1, small, arm)] })
  expect(bare.reasons.get(sessionId(1))?.code).toBe('image_nowhere')
})

test('equal requests for images of different architectures have reasons of their own', () => {
  const agents = [anAgent(1, small, { ...runs('amd64'), images: new Set([IMAGE]) })]
  const pending = [
    aSession(1, small, { ...arm, ...pullable }),
    aSession(2, small, { architecture: 'amd64', ...pullable }),
  ]
  const { placements, reasons } = run({ agents, pending })
  expect(placements.map(placement => placement.sessionId)).toEqual([sessionId(2)])
  expect(reasons.get(sessionId(1))?.code).toBe('architecture_nowhere')
})
