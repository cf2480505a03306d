import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, lackingSlots, type ResourceSlots } from '#manager/contract'
import {
  type AgentSnapshot,
  concentrated,
  dispersed,
  drf,
  fifo,
  type Occupant,
  partsOf,
  type PendingSession,
  plan,
  type Reservation,
} from './index.ts'
import { agentId, anAgent, aSession, busy, sessionId } from './plan-fixtures.ts'

const MINUTE = 60_000
const NOW = 100 * MINUTE

const aGang = (n: number, requested: ResourceSlots, size: number, more: Partial<PendingSession> = {}) =>
  aSession(n, requested, { clusterSize: size, clusterMode: 'multi-host', ...more })
const inNetwork = (n: number, capacity: ResourceSlots, more = {}) =>
  anAgent(n, capacity, { clusterAddress: `192.168.0.${n}`, ...more })
const holder = (slots: ResourceSlots, latestEnd: number | null = null): Occupant => ({ slots, devices: [], latestEnd })

describe('a session over several hosts that waited long', () => {
  const two = [1, 2].map(n => busy(inNetwork(n, { cpu: 4000 }), [holder({ cpu: 2000 })]))
  const gang = aGang(1, { cpu: 2000 }, 3, { enqueuedAt: NOW - 11 * MINUTE })
  const small = aSession(2, { cpu: 1000 }, { enqueuedAt: NOW })

  test('gets the reservation, on as many hosts as it needs; others may not use what is held there', () => {
    const result = plan({ agents: two, pending: [gang, small], now: NOW }, fifo, concentrated)
    expect(result.placements).toEqual([])
    expect(result.reservation).toMatchObject({
      sessionId: gang.id,
      agentId: agentId(1),
      parts: [
        { agentId: agentId(1), kernels: 2 },
        { agentId: agentId(2), kernels: 1 },
      ],
    })
    expect(result.queue).toEqual([gang.id, small.id])
    expect(result.reasons.get(gang.id)).toMatchObject({
      code: 'reserved',
      message:
        'Next in line on agent-1, agent-2, with room for 2 of its 3 containers so far. The time of the start is not known.',
    })
    expect(result.reasons.get(small.id)).toMatchObject({ code: 'queued_behind' })
  })

  test('keeps it from plan to plan, and starts as soon as the hosts have room, before all others', () => {
    const { reservation } = plan({ agents: two, pending: [gang, small], now: NOW }, fifo, concentrated)
    const again = plan({ agents: two, pending: [small, gang], now: NOW + 1, reservation }, fifo, concentrated)
    expect(again.reservation).toBe(reservation)
    expect(again.placements).toEqual([])
    const [first, second] = two
    const agents = [inNetwork(1, { cpu: 4000 }), second ?? two[0]].flatMap(agent => agent ?? [])
    const { placements } = plan({ agents, pending: [small, gang], now: NOW + 2, reservation }, fifo, concentrated)
    expect(placements.map(one => one.sessionId)).toEqual([gang.id])
    expect(placements[0]?.hosts).toEqual([agentId(1), agentId(1), agentId(2)])
    expect(first).toBeDefined()
  })

  test('waits for the hosts on which it can start first, and says when', () => {
    const agents = [60, 5, 20].map((minutes, index) =>
      busy(inNetwork(index + 1, { cpu: 2000 }), [holder({ cpu: 2000 }, NOW + minutes * MINUTE)]),
    )
    const pair = aGang(1, { cpu: 2000 }, 2, { enqueuedAt: NOW - 11 * MINUTE })
    const { reservation, reasons } = plan({ agents, pending: [pair], now: NOW }, fifo, concentrated)
    expect(reservation?.parts?.map(part => part.agentId)).toEqual([agentId(2), agentId(3)])
    expect(reasons.get(pair.id)?.expectedBy).toBe(new Date(NOW + 20 * MINUTE).toISOString())
  })

  test('lends held capacity to sessions that end before it is needed', () => {
    const agents = [
      busy(inNetwork(1, { cpu: 2000 }), [holder({ cpu: 2000 }, NOW + 20 * MINUTE)]),
      inNetwork(2, { cpu: 2000 }),
    ]
    const pair = aGang(1, { cpu: 2000 }, 2, { enqueuedAt: NOW - 11 * MINUTE })
    const hold = (minutes: number) => ({ imageThereMs: minutes * MINUTE, imagePulledMs: minutes * MINUTE })
    const short = aSession(2, { cpu: 1000 }, { enqueuedAt: NOW, longestHold: hold(19) })
    const long = aSession(3, { cpu: 1000 }, { enqueuedAt: NOW, longestHold: hold(21) })
    const { placements } = plan({ agents, pending: [pair, short, long], now: NOW }, fifo, concentrated)
    expect(placements.map(one => one.sessionId)).toEqual([sessionId(2)])
  })

  test('gets other hosts if one of them is gone, and keeps them while one is away for a moment', () => {
    const three = [1, 2, 3].map(n => busy(inNetwork(n, { cpu: 2000 }), [holder({ cpu: 2000 })]))
    const pair = aGang(1, { cpu: 2000 }, 2, { enqueuedAt: NOW - 11 * MINUTE })
    const { reservation } = plan({ agents: three, pending: [pair], now: NOW }, fifo, concentrated)
    expect(reservation?.parts?.map(part => part.agentId)).toEqual([agentId(1), agentId(2)])
    const with2 = (change: Partial<AgentSnapshot>) =>
      three.map((agent, index) => (index === 1 ? { ...agent, ...change } : agent))
    const snapshot = { pending: [pair], now: NOW + 1, reservation }
    const away = plan({ ...snapshot, agents: with2({ connected: false }) }, fifo, concentrated)
    expect(away.reservation).toBe(reservation)
    const lost = plan({ ...snapshot, agents: with2({ connected: false, lost: true }) }, fifo, concentrated)
    expect(lost.reservation?.parts?.map(part => part.agentId)).toEqual([agentId(1), agentId(3)])
    // An address that the administrator took away.
    const out = plan({ ...snapshot, agents: with2({ clusterAddress: undefined }) }, fifo, concentrated)
    expect(out.reservation?.parts?.map(part => part.agentId)).toEqual([agentId(1), agentId(3)])
  })
})

const RESERVE_AFTER = 5
const LONGEST = 12

const everyStream = fc.record({
  cpus: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 4 }),
  /** Amounts and durations of small sessions, in turn. */
  arrivals: fc.array(
    fc.record({ cpu: fc.integer({ min: 1, max: 2 }), minutes: fc.integer({ min: 1, max: LONGEST }) }),
    { minLength: 3, maxLength: 12 },
  ),
  size: fc.integer({ min: 2, max: 5 }),
  perKernel: fc.integer({ min: 1, max: 3 }),
  isKnown: fc.boolean(),
  sequencer: fc.constantFrom(fifo, drf),
  selector: fc.constantFrom(concentrated, dispersed),
})

interface Live {
  readonly on: readonly { readonly agentId: string; readonly slots: ResourceSlots }[]
  readonly endsAt: number
}

test('a session over several hosts never starves behind a stream of small ones, and no host is overfull', () => {
  fc.assert(
    fc.property(everyStream, ({ cpus, arrivals, size, perKernel, isKnown, sequencer, selector }) => {
      const hosts = cpus.map((cpu, index) => inNetwork(index + 1, { cpu: cpu * 1000 }))
      const most = cpus.reduce((sum, cpu) => sum + Math.floor(cpu / perKernel), 0)
      fc.pre(most >= size)
      const gang = aGang(0, { cpu: perKernel * 1000 }, size, { enqueuedAt: MINUTE })
      const asks = new Map<string, { cpu: number; minutes: number }>()
      let live: Live[] = []
      let reservation: Reservation | undefined
      let count = 0
      for (let minute = 0; minute <= 1 + RESERVE_AFTER + LONGEST; minute++) {
        const now = minute * MINUTE
        live = live.filter(one => one.endsAt > now)
        const agents = hosts.map(host =>
          busy(
            host,
            live.flatMap(({ on, endsAt }) =>
              on.filter(part => part.agentId === host.id).map(part => holder(part.slots, isKnown ? endsAt : null)),
            ),
          ),
        )
        // More than there is room for, every minute.
        const waiting: PendingSession[] = []
        for (let asked = 0; asked < 2 * cpus.length * 6; asked++) {
          const small = arrivals[count % arrivals.length] ?? { cpu: 1, minutes: 1 }
          const hold = { imageThereMs: small.minutes * MINUTE, imagePulledMs: small.minutes * MINUTE }
          const more = { enqueuedAt: now, ...(isKnown ? { longestHold: hold } : {}) }
          const session = aSession(++count, { cpu: small.cpu * 1000 }, more)
          asks.set(session.id, small)
          waiting.push(session)
        }
        // The gang comes when the hosts are full.
        const pending = minute === 0 ? waiting : [...waiting, gang]
        const options = { reserveAfterMs: RESERVE_AFTER * MINUTE }
        const result = plan({ agents, pending, now, options, reservation }, sequencer, selector)
        reservation = result.reservation
        for (const agent of agents) {
          const here = result.placements.flatMap(partsOf).filter(part => part.agentId === agent.id)
          const all = here.map(part => part.requested).reduce<ResourceSlots>(addSlots, agent.occupied)
          expect(lackingSlots(all, agent.capacity)).toEqual([])
        }
        const placed = new Set(result.placements.map(one => one.sessionId))
        if (placed.has(gang.id)) return
        for (const placement of result.placements) {
          const { minutes = 0 } = asks.get(placement.sessionId) ?? {}
          const on = partsOf(placement).map(part => ({ agentId: part.agentId, slots: part.requested }))
          live.push({ on, endsAt: now + minutes * MINUTE })
        }
      }
      throw new Error('the gang still waits after the longest session has ended')
    }),
    { numRuns: 40 },
  )
})
