import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TunnelId, type TunnelTraffic } from '#proxy/contract'
import { createTrafficMeter } from './traffic.ts'

const id = TunnelId.parse('t1')
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('bytes per second are reported while a tunnel carries any, once more when it stops, and never without connections', () => {
  const tunnel = { id, connections: 1, bytesUp: 0, bytesDown: 0 }
  const idle = { id: TunnelId.parse('t2'), connections: 0, bytesUp: 0, bytesDown: 0 }
  const seen: (readonly TunnelTraffic[])[] = []
  const meter = createTrafficMeter({ tunnels: () => [tunnel, idle], onTraffic: list => seen.push(list), now: Date.now })
  meter.follow()
  tunnel.bytesUp = 500
  tunnel.bytesDown = 2_000
  vi.advanceTimersByTime(1_000)
  tunnel.bytesDown = 5_000
  vi.advanceTimersByTime(1_000)
  vi.advanceTimersByTime(3_000)
  expect(seen).toEqual([
    [{ id, bytesUp: 500, bytesDown: 2_000, upPerSecond: 500, downPerSecond: 2_000 }],
    [{ id, bytesUp: 500, bytesDown: 5_000, upPerSecond: 0, downPerSecond: 3_000 }],
    [{ id, bytesUp: 500, bytesDown: 5_000, upPerSecond: 0, downPerSecond: 0 }],
  ])
  tunnel.connections = 0
  vi.advanceTimersByTime(1_000)
  expect(vi.getTimerCount()).toBe(0)
  // A connection that came and went between two checks is counted too.
  tunnel.bytesUp = 700
  meter.follow()
  vi.advanceTimersByTime(1_000)
  expect(seen.at(-1)).toEqual([{ id, bytesUp: 700, bytesDown: 5_000, upPerSecond: 200, downPerSecond: 0 }])
})
