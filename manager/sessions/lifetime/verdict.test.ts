import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type SampleWindow } from '../../stats/sample-ring.ts'
import { BUSY, type TrafficWindow, verdictOf } from './verdict.ts'

const still: SampleWindow = { seconds: 60, cpuMilli: 0, gpuUtilization: 0, diskBytes: 0, netBytes: 0 }
const silence: TrafficWindow = { tunnels: 0, tunnelBytes: 0, terminals: 0, terminalBytes: 0 }

test('a session without activity is idle', () => {
  expect(verdictOf({ kernels: [still], traffic: silence })).toBe('idle')
})

describe('activity', () => {
  test.each<[string, Partial<SampleWindow>]>([
    ['CPU', { cpuMilli: BUSY.cpuMilli }],
    ['GPU', { gpuUtilization: BUSY.gpuUtilization }],
    ['disk', { diskBytes: BUSY.diskBytesPerSecond * 60 }],
    ['network', { netBytes: BUSY.netBytesPerSecond * 60 }],
  ])('use of the %s at its threshold makes a session busy, just below it does not', (_what, sign) => {
    expect(verdictOf({ kernels: [{ ...still, ...sign }], traffic: silence })).toBe('busy')
    const below = Object.fromEntries(Object.entries(sign).map(([name, value]) => [name, value * 0.99]))
    expect(verdictOf({ kernels: [{ ...still, ...below }], traffic: silence })).toBe('idle')
  })

  test.each<[string, Partial<TrafficWindow>, Partial<TrafficWindow>]>([
    ['a tunnel', { tunnels: 1, tunnelBytes: BUSY.tunnelBytes }, { tunnels: 2, tunnelBytes: BUSY.tunnelBytes }],
    ['a tunnel that has closed', { tunnelBytes: BUSY.tunnelBytes }, { tunnelBytes: 600 }],
    ['a terminal', { terminals: 1, terminalBytes: BUSY.terminalBytes }, { terminals: 1, terminalBytes: 96 }],
  ])('traffic of %s makes a session busy, keep-alives do not', (_what, alive, beating) => {
    expect(verdictOf({ kernels: [still], traffic: { ...silence, ...alive } })).toBe('busy')
    expect(verdictOf({ kernels: [still], traffic: { ...silence, ...beating } })).toBe('idle')
  })

  test('activity of one kernel is activity of the session', () => {
    expect(verdictOf({ kernels: [still, { ...still, cpuMilli: 900 }], traffic: silence })).toBe('busy')
  })
})

test('missing figures do not count as idleness, and do not hide activity', () => {
  const figures = fc.record({
    seconds: fc.constant(60),
    cpuMilli: fc.nat(200),
    gpuUtilization: fc.nat(100),
    diskBytes: fc.nat(8_000_000),
    netBytes: fc.nat(500_000),
  })
  const traffic = fc.record({
    tunnels: fc.nat(3),
    tunnelBytes: fc.nat(10_000),
    terminals: fc.nat(3),
    terminalBytes: fc.nat(2_000),
  })
  fc.assert(
    fc.property(fc.array(figures, { maxLength: 4 }), traffic, fc.nat(3), (known, seen, missing) => {
      const complete = verdictOf({ kernels: known, traffic: seen })
      const gaps = Array.from({ length: missing }, () => undefined)
      const verdict = verdictOf({ kernels: [...known, ...gaps], traffic: seen })
      if (complete === 'busy') expect(verdict).toBe('busy')
      else expect(verdict).toBe(missing > 0 || known.length === 0 ? 'unknown' : 'idle')
    }),
  )
})
