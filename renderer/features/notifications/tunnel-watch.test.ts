import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Tunnel, type TunnelId } from '#proxy/contract'
import { createTunnelWatch } from './tunnel-watch.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})
const tunnels = (...states: Tunnel['state'][]) => states.map((state, index) => ({ id: `t${index}` as TunnelId, state }))

test('tunnels that stay without a connection are told once, and once more when all are back', () => {
  const onLost = vi.fn()
  const onBack = vi.fn()
  const watch = createTunnelWatch({ onLost, onBack })
  watch.check(tunnels('open', 'reconnecting', 'reconnecting'))
  vi.advanceTimersByTime(5_000)
  watch.check(tunnels('reconnecting', 'reconnecting', 'reconnecting'))
  vi.advanceTimersByTime(60_000)
  watch.check(tunnels('open', 'reconnecting', 'open'))
  expect(onBack).not.toHaveBeenCalled()
  watch.check(tunnels('open', 'open', 'open'))
  expect([onLost.mock.calls, onBack.mock.calls]).toEqual([[[2]], [[2]]])
})

test('an interruption of seconds is not told, and neither is a tunnel that was closed while it was lost', () => {
  const onLost = vi.fn()
  const onBack = vi.fn()
  const watch = createTunnelWatch({ onLost, onBack })
  watch.check(tunnels('reconnecting'))
  vi.advanceTimersByTime(2_000)
  watch.check(tunnels('open'))
  vi.advanceTimersByTime(60_000)
  expect(onLost).not.toHaveBeenCalled()
  watch.check(tunnels('reconnecting'))
  vi.advanceTimersByTime(5_000)
  watch.check([])
  expect(onLost).toHaveBeenCalledOnce()
  expect(onBack).not.toHaveBeenCalled()
})
