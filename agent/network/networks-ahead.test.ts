import { setTimeout as delay } from 'node:timers/promises'
import { type NetworkInspectInfo } from 'dockerode'
import { expect, test } from 'vitest'
import { LABEL_KERNEL_ID, LABEL_MANAGER } from '#agent/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { createNetworksAhead } from './networks-ahead.ts'
import { createSessionNetworks } from './session-networks.ts'
import { parseCidr } from './subnets.ts'

const SIZE = 2
type NewNetwork = Pick<NetworkInspectInfo, 'IPAM' | 'Labels'>

/** Networks ahead on a FAKE engine that keeps networks in memory. @param cidr default: sixteen /28 */
function networksInMemory(cidr = '10.250.77.0/24') {
  const held = new Map<string, NetworkInspectInfo>()
  let made = 0
  let refusals = 0
  let failures = 0
  let answer: Promise<undefined> | undefined
  let manager = 'first'
  let isQuiet = true
  const calls = {
    async listNetworks({ filters }: { filters?: { label: string[] } } = {}) {
      await answer
      return [...held.values()].filter(({ Labels }) =>
        (filters?.label ?? []).every(label => label === `${LABEL_MANAGER}=${Labels?.[LABEL_MANAGER]}`),
      )
    },
    createNetwork({ IPAM, Labels }: NewNetwork) {
      if (refusals > 0 && refusals--) return Promise.reject(Object.assign(new Error('overlaps'), { statusCode: 403 }))
      const id = `network-${++made}`
      held.set(id, { Id: id, Driver: 'bridge', IPAM, Labels } as NetworkInspectInfo)
      return Promise.resolve({ id })
    },
    getNetwork: (id: string) => ({ remove: () => Promise.resolve(void held.delete(id)) }),
  }
  const range = parseCidr(cidr)
  if (!range) throw new Error('a range')
  const networks = createSessionNetworks({ calls } as unknown as EngineClient, { range, onChange: () => undefined })
  const ahead = createNetworksAhead({
    networks,
    size: SIZE,
    manager: () => manager,
    isQuiet: () => isQuiet,
    onFailure: () => void failures++,
    restMs: 0,
  })
  return {
    networks,
    ahead,
    made: () => made,
    failures: () => failures,
    serve(next: string) {
      manager = next
      ahead.forget()
    },
    refuse: (times: number) => void (refusals = times),
    refusalsLeft: () => refusals,
    /** The engine lists no networks until this is disposed of. */
    hold(): Disposable {
      const { promise, resolve } = Promise.withResolvers<undefined>()
      answer = promise
      return { [Symbol.dispose]: () => resolve(undefined) }
    },
    /** Polls a number. The agent requests a refill after every start and check. */
    refilled: <T>(figure: () => T) =>
      expect.poll(() => {
        ahead.refill()
        return figure()
      }),
    /** Managers of the networks that are ready. */
    ready: () =>
      [...held.values()].flatMap(({ Labels }) =>
        ahead.has(Labels?.[LABEL_KERNEL_ID] ?? '') ? [Labels?.[LABEL_MANAGER]] : [],
      ),
    count: () => held.size,
    /** Starts this many sessions one after the other; as in the agent, their starts come before any refill. */
    async sessions(count: number) {
      isQuiet = false
      for (let i = 0; i < count; i++)
        await networks.create({ kernelId: `kernel-${i}`, sessionId: `session-${i}` }, manager)
    },
    startsHaveEnded: () => void (isQuiet = true),
    async [Symbol.asyncDispose]() {
      await ahead[Symbol.asyncDispose]()
      expect(failures).toBe(0)
    },
  }
}

test('ready networks count as free: sixteen /28 have room for all of them', async () => {
  await using engine = networksInMemory()
  await engine.refilled(engine.count).toBe(SIZE)
  expect(engine.made()).toBe(SIZE)
})

test('a network that is taken while a refill counts is made again without another look', async () => {
  await using engine = networksInMemory('10.250.76.0/23')
  await engine.refilled(() => engine.ready().length).toBe(SIZE)
  {
    using _listing = engine.hold()
    engine.ahead.refill()
    await delay(10)
    expect(engine.ahead.take('first')).toBeDefined()
    // The start that has taken the network has ended.
    engine.ahead.refill()
  }
  await expect.poll(() => engine.ready().length).toBe(SIZE)
})

test('ready networks are released when sessions need the range, and created again afterwards', async () => {
  await using engine = networksInMemory()
  await engine.refilled(() => engine.ready().length).toBe(SIZE)
  await engine.sessions(14)
  await engine.networks.check()
  expect(engine.networks.problem?.why).toContain('no free /28')
  engine.startsHaveEnded()
  await engine.refilled(engine.count).toBe(14)
  await expect.poll(() => engine.networks.problem).toBeNull()
  for (let i = 0; i < 14; i++) await engine.networks.remove(`kernel-${i}`, 'first', () => false)
  await engine.refilled(() => engine.ready().length).toBe(SIZE)
})

test('a network that another agent was quicker to get is made at another place of the range', async () => {
  await using engine = networksInMemory('10.250.76.0/23')
  engine.refuse(1)
  await engine.refilled(() => engine.ready().length).toBe(SIZE)
})

test('an engine that refuses every network leaves those that are ready', async () => {
  await using engine = networksInMemory('10.250.76.0/23')
  await engine.refilled(() => engine.ready().length).toBe(SIZE)
  expect(engine.ahead.take('first')).toBeDefined()
  engine.refuse(1_000)
  await engine.refilled(engine.refusalsLeft).toBeLessThanOrEqual(992)
  expect(engine.ready()).toEqual(['first'])
  engine.refuse(0)
  await engine.refilled(() => engine.ready().length).toBe(SIZE)
})

test('networks for sessions of a former manager are removed, and new ones belong to the present one', async () => {
  await using engine = networksInMemory()
  await engine.refilled(() => engine.ready().length).toBe(SIZE)
  engine.serve('second')
  expect(engine.ahead.take('first')).toBeUndefined()
  await engine.refilled(engine.ready).toEqual(['second', 'second'])
  await expect.poll(engine.count).toBe(SIZE)
})
