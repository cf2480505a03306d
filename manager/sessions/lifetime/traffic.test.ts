import { expect, test } from 'vitest'
import { SessionId } from '#manager/contract'
import { newId } from '../../store/new-id.ts'
import { NO_ACTIVITY, type SessionActivity } from '../../tunnels/activity.ts'
import { createTrafficMeter } from './traffic.ts'

const ID = newId(SessionId)

function meter() {
  let time = 0
  const meter = createTrafficMeter(60_000, () => time)
  return {
    meter,
    at: (seconds: number, activity: Partial<SessionActivity>) => {
      time = seconds * 1000
      return meter.measure(ID, { ...NO_ACTIVITY, ...activity })
    },
  }
}

test('traffic before the first reading does not count', () => {
  expect(meter().at(0, { tunnels: 1, bytesDown: 5_000_000 })).toMatchObject({ tunnels: 1, tunnelBytes: 0 })
})

test('the window covers a minute, in both directions', () => {
  const { at } = meter()
  at(0, { bytesDown: 100 })
  expect(at(30, { bytesDown: 1100, bytesUp: 50 }).tunnelBytes).toBe(1050)
  expect(at(59, { bytesDown: 1100, bytesUp: 50 }).tunnelBytes).toBe(1050)
  expect(at(91, { bytesDown: 1100, bytesUp: 50 }).tunnelBytes).toBe(0)
})

test('a terminal counts by its output, and its bytes are not those of a tunnel', () => {
  const { at } = meter()
  at(0, {})
  const seen = at(5, {
    tunnels: 2,
    terminals: 1,
    bytesUp: 20,
    bytesDown: 400,
    terminalBytesUp: 15,
    terminalBytesDown: 390,
  })
  expect(seen).toEqual({ tunnels: 1, terminals: 1, tunnelBytes: 15, terminalBytes: 390 })
})

test('counters that restart do not count as negative traffic', () => {
  const { at } = meter()
  at(0, { bytesDown: 9000 })
  expect(at(5, { bytesDown: 70 }).tunnelBytes).toBe(70)
})

test('a session that is no longer read is forgotten', () => {
  const { meter: traffic, at } = meter()
  at(0, {})
  traffic.keep(new Set())
  expect(at(5, { bytesDown: 9000 }).tunnelBytes).toBe(0)
})
