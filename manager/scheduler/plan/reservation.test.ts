import { describe, expect, test } from 'vitest'
import { type ResourceSlots } from '#manager/contract'
import { type AgentSnapshot, concentrated, drf, fifo, lifo, type Occupant, plan } from './index.ts'
import { agentId, anAgent, aSession, busy, sessionId } from './plan-fixtures.ts'
import { type Reservation } from './snapshot.ts'

const MINUTE = 60_000
const NOW = 100 * MINUTE

/** An occupant of the agent. @param gpus whole GPUs by number */
const running = (slots: ResourceSlots, gpus: readonly number[], latestEnd: number | null): Occupant => ({
  slots,
  devices: gpus.map(n => ({ uuid: `cuda.device-${n}`, slot: 'cuda.device', amount: 1 })),
  latestEnd,
})

const host = anAgent(1, { cpu: 8000, 'cuda.device': 4 })
const large = aSession(1, { cpu: 4000, 'cuda.device': 4 }, { enqueuedAt: NOW - 11 * MINUTE })
const halfBusy = (end: number | null) => busy(host, [running({ cpu: 2000, 'cuda.device': 2 }, [0, 1], end)])

describe('the one reservation', () => {
  test('it goes to a session that was blocked on capacity for ten minutes; others may not use what it needs', () => {
    const small = aSession(2, { cpu: 1000, 'cuda.device': 1 }, { enqueuedAt: NOW })
    const result = plan({ agents: [halfBusy(null)], pending: [large, small], now: NOW }, fifo, concentrated)
    expect(result.placements).toEqual([])
    expect(result.reservation).toMatchObject({ sessionId: large.id, agentId: agentId(1) })
    expect(result.queue).toEqual([large.id, small.id])
    expect(result.reasons.get(large.id)).toMatchObject({
      code: 'reserved',
      message: 'Next in line on agent-1. Waits for 2 GPU on agent-1; the time is not known.',
      needed: { 'cuda.device': '4' },
      available: { 'cuda.device': '2' },
    })
    expect(result.reasons.get(small.id)).toMatchObject({
      code: 'queued_behind',
      message: 'What is free on host agent-1 is reserved for a session that has waited longer.',
    })
  })

  test('a younger session gets none, and nobody gets one under LIFO', () => {
    const young = { ...large, enqueuedAt: NOW - 9 * MINUTE }
    expect(
      plan({ agents: [halfBusy(null)], pending: [young], now: NOW }, fifo, concentrated).reservation,
    ).toBeUndefined()
    expect(
      plan({ agents: [halfBusy(null)], pending: [large], now: NOW }, lifo, concentrated).reservation,
    ).toBeUndefined()
    expect(plan({ agents: [halfBusy(null)], pending: [large], now: NOW }, drf, concentrated).reservation).toBeDefined()
  })

  test('resources that it does not need stay available', () => {
    const cpuOnly = (n: number) => aSession(n, { cpu: 1000 }, { enqueuedAt: NOW })
    const pending = [large, cpuOnly(2), cpuOnly(3), cpuOnly(4)]
    const result = plan({ agents: [halfBusy(null)], pending, now: NOW }, fifo, concentrated)
    // 2 CPU are free: 8, minus 2 in use, minus 4 held.
    expect(result.placements.map(p => p.sessionId)).toEqual([sessionId(2), sessionId(3)])
  })

  test('held capacity is lent to sessions that end before it is needed', () => {
    const hold = (minutes: number) => ({ imageThereMs: minutes * MINUTE, imagePulledMs: Infinity })
    const short = aSession(2, { 'cuda.device': 2 }, { enqueuedAt: NOW, longestHold: hold(30) })
    const long = aSession(3, { 'cuda.device': 1 }, { enqueuedAt: NOW, longestHold: hold(31) })
    const agents = [halfBusy(NOW + 30 * MINUTE)]
    const result = plan({ agents, pending: [large, long, short], now: NOW }, fifo, concentrated)
    expect(result.placements.map(p => p.sessionId)).toEqual([short.id])
    expect(result.reasons.get(large.id)).toMatchObject({ expectedBy: new Date(NOW + 30 * MINUTE).toISOString() })
  })

  test('lending accounts for the time of a pull, if one is needed', () => {
    const longestHold = { imageThereMs: 5 * MINUTE, imagePulledMs: 35 * MINUTE }
    const other = aSession(
      2,
      { 'cuda.device': 1 },
      { enqueuedAt: NOW, imageDigest: 'sha256:other', pullable: true, longestHold },
    )
    const lent = (until: number) => {
      const agents = [halfBusy(NOW + until)]
      const { placements, reasons } = plan({ agents, pending: [large, other], now: NOW }, fifo, concentrated)
      expect(reasons.get(large.id)?.expectedBy).toBe(new Date(NOW + until).toISOString())
      return placements.map(p => p.sessionId)
    }
    expect(lent(34 * MINUTE)).toEqual([])
    expect(lent(35 * MINUTE)).toEqual([other.id])
  })

  test('a session that was placed a moment ago counts with the time of its pull', () => {
    const longestHold = { imageThereMs: 5 * MINUTE, imagePulledMs: 35 * MINUTE }
    const first = aSession(0, { 'cuda.device': 4 }, { imageDigest: 'sha256:other', pullable: true, longestHold })
    const { reasons } = plan({ agents: [host], pending: [first, large], now: NOW }, fifo, concentrated)
    expect(reasons.get(large.id)?.expectedBy).toBe(new Date(NOW + 35 * MINUTE).toISOString())
  })

  test('it is released while the owner, project or domain of its session is deactivated, and restored afterwards', () => {
    const small = aSession(2, { cpu: 1000, 'cuda.device': 1 }, { enqueuedAt: NOW })
    const agents = [halfBusy(null)]
    const { reservation } = plan({ agents, pending: [large], now: NOW }, fifo, concentrated)
    for (const inactive of ['user', 'group', 'domain'] as const) {
      const pending = [{ ...large, inactive }, small]
      const shut = plan({ agents, pending, now: NOW, reservation }, fifo, concentrated)
      expect(shut.reservation).toBeUndefined()
      expect(shut.placements.map(({ sessionId: id }) => id)).toEqual([small.id])
    }
    const again = plan({ agents, pending: [large, small], now: NOW }, fifo, concentrated)
    expect(again.reservation).toMatchObject({ sessionId: large.id })
  })

  test('it goes to the agent on which the session starts first', () => {
    const other = { ...halfBusy(NOW + MINUTE), id: agentId(2), name: 'agent-2' }
    const result = plan({ agents: [halfBusy(NOW + 5 * MINUTE), other], pending: [large], now: NOW }, fifo, concentrated)
    expect(result.reservation?.agentId).toBe(agentId(2))
  })

  test('it stays on its agent, and ends when its session starts, even on another agent', () => {
    const devices = host.devices.map(({ uuid, slot, total }) => ({ uuid, slot, amount: total }))
    const reservation: Reservation = { sessionId: large.id, agentId: agentId(1), devices }
    const other = { ...halfBusy(NOW + MINUTE), id: agentId(2), name: 'agent-2' }
    const before = { agents: [halfBusy(null), other], pending: [large], now: NOW, reservation }
    expect(plan(before, fifo, concentrated).reservation).toEqual(reservation)
    const free = { ...other, occupied: {}, occupants: [], devices: host.devices }
    const after = plan({ ...before, agents: [halfBusy(null), free] }, fifo, concentrated)
    expect(after.reservation).toBeUndefined()
    expect(after.placements).toMatchObject([{ sessionId: large.id, agentId: agentId(2) }])
  })

  describe('the agent of the reservation is away', () => {
    const devices = host.devices.map(({ uuid, slot, total }) => ({ uuid, slot, amount: total }))
    const reservation: Reservation = { sessionId: large.id, agentId: agentId(1), devices }
    const other = { ...halfBusy(NOW + MINUTE), id: agentId(2), name: 'agent-2' }
    const away = { ...halfBusy(NOW + MINUTE), connected: false }
    const pass = (agents: readonly AgentSnapshot[], pending = [large]) =>
      plan({ agents, pending, now: NOW, reservation }, fifo, concentrated)

    test('a brief absence keeps the reservation, with an unknown start time', () => {
      // The agents connect to a manager that has just started one after the other.
      for (const agents of [[away], [away, other], [away, { ...other, connected: false }]]) {
        const { reservation: kept, reasons, queue } = pass(agents)
        expect(kept).toBe(reservation)
        expect(queue).toEqual([large.id])
        expect(reasons.get(large.id)).toEqual({
          code: 'reserved',
          message: 'Next in line on agent-1. agent-1 is not connected, so the time is not known.',
          cause: 'reserved_on_host',
          values: { host: 'agent-1' },
          more: [{ cause: 'start_unknown_away', values: { host: 'agent-1' } }],
        })
      }
    })

    test('a brief absence keeps the reservation of a session with an allow list, though nothing is known then of the rules of its host', () => {
      const restricted = { ...large, restricted: true }
      const restricting = { ...other, restricts: true }
      for (const agents of [[away], [away, restricting]])
        expect(pass(agents, [restricted]).reservation).toBe(reservation)
      const lax = { ...halfBusy(NOW + MINUTE), restricts: false }
      expect(pass([lax, restricting], [restricted]).reservation?.agentId).toBe(agentId(2))
    })

    test('a brief absence does not keep sessions from another agent', () => {
      const free = anAgent(2, { cpu: 8000, 'cuda.device': 4 })
      const small = aSession(2, { cpu: 1000, 'cuda.device': 1 }, { enqueuedAt: NOW })
      const result = pass([away, free], [large, small])
      expect(result.placements).toMatchObject([{ sessionId: large.id, agentId: agentId(2) }])
      expect(result.reservation).toBeUndefined()
      expect(pass([away, other], [large, small]).placements).toMatchObject([{ sessionId: small.id }])
    })

    test.each<[string, readonly AgentSnapshot[]]>([
      ['forgotten', []],
      ['lost', [{ ...away, lost: true }]],
      ['paused', [{ ...away, schedulable: false }]],
      ['without the image', [{ ...away, images: new Set() }]],
      ['without the devices', [{ ...away, devices: [] }]],
    ])('if the agent is %s, the reservation moves, or ends if no other agent could ever hold it', (_why, agents) => {
      expect(pass([...agents, other]).reservation?.agentId).toBe(agentId(2))
      expect(pass(agents).reservation).toBeUndefined()
    })

    test('the reservation moves if its agent no longer isolates as the resource group requires', () => {
      const isolating = { ...other, isolated: true }
      const snapshot = { agents: [away, isolating], pending: [large], now: NOW, reservation }
      const result = plan({ ...snapshot, options: { requireIsolation: true } }, fifo, concentrated)
      expect(result.reservation?.agentId).toBe(agentId(2))
    })

    test('the reservation ends when its resource group is closed', () => {
      const closed = { agents: [away], pending: [large], now: NOW, reservation, active: false }
      expect(plan(closed, fifo, concentrated).reservation).toBeUndefined()
    })
  })
})
