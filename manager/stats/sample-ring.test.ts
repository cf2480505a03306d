import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SessionStats } from '#manager/contract'
import { SampleRing } from './sample-ring.ts'

const amount = fc.integer({ min: 0, max: 2 ** 45 })
const sample = (at: number, change: Partial<SessionStats> = {}): SessionStats => ({
  at: new Date(at).toISOString(),
  cpuMilli: 0,
  cpuSeconds: 0,
  memBytes: 0,
  memPeakBytes: 0,
  netRxBytes: 0,
  netTxBytes: 0,
  diskReadBytes: 0,
  diskWriteBytes: 0,
  scratchBytes: null,
  gpus: [],
  ...change,
})

test('samples are returned oldest first, up to the capacity', () => {
  const stats = fc.record({
    cpuMilli: amount,
    memBytes: amount,
    memPeakBytes: amount,
    netRxBytes: amount,
    netTxBytes: amount,
    diskReadBytes: amount,
    diskWriteBytes: amount,
    scratchBytes: fc.option(amount, { nil: null }),
    cpuSeconds: amount,
    gpus: fc.tuple(
      fc.record({
        uuid: fc.constant('GPU-1'),
        utilization: fc.option(fc.nat(100), { nil: null }),
        memBytes: fc.option(amount, { nil: null }),
        device: fc.record({
          utilization: fc.option(fc.nat(100), { nil: null }),
          memBytes: fc.option(amount, { nil: null }),
          totalBytes: fc.constant(80),
        }),
      }),
    ),
  })
  fc.assert(
    fc.property(fc.array(stats, { maxLength: 20 }), fc.integer({ min: 1, max: 8 }), (list, kept) => {
      const ring = new SampleRing(kept)
      const samples = list.map((one, index): SessionStats => sample(index * 1000, one))
      for (const one of samples) ring.add(one)
      expect(ring.last()).toEqual(samples.slice(-kept))
      expect(ring.last(2)).toEqual(samples.slice(-Math.min(2, kept)))
    }),
  )
})

test('samples of an agent without CPU seconds are returned without them', () => {
  const ring = new SampleRing(4)
  const { cpuSeconds: _, ...without } = sample(1000)
  ring.add(without)
  expect(ring.last()).toEqual([without])
})

test('another set of GPUs restarts the ring', () => {
  const ring = new SampleRing(4)
  ring.add(sample(1000))
  const gpus = [{ uuid: 'GPU-1', utilization: 50, memBytes: 7 }]
  ring.add(sample(2000, { gpus }))
  expect(ring.last()).toEqual([sample(2000, { gpus })])
})

const SPAN = { windowMs: 10_000, freshMs: 3_000 }
const filled = (from: number, to: number, change: (second: number) => Partial<SessionStats> = () => ({})) => {
  const ring = new SampleRing(60)
  for (let second = from; second <= to; second++) ring.add(sample(second * 1000, change(second)))
  return ring
}

test('a window has means of rates and growth of totals', () => {
  const ring = filled(0, 20, second => ({
    cpuMilli: second < 11 ? 9999 : 100,
    netRxBytes: second * 5,
    diskWriteBytes: second * 7,
    gpus: [
      { uuid: 'GPU-1', utilization: 0, memBytes: 0 },
      { uuid: 'GPU-2', utilization: second % 2 === 0 ? 0 : 40, memBytes: 0 },
    ],
  }))
  expect(ring.window(20_000, SPAN)).toEqual({
    seconds: 9,
    cpuMilli: 100,
    gpuUtilization: 20,
    netBytes: 45,
    diskBytes: 63,
  })
})

test('a GPU with unknown use neither counts as busy nor hides another one', () => {
  const unknown = { uuid: 'MIG-1', utilization: null, memBytes: 5 }
  const gpus = [unknown, { uuid: 'GPU-1', utilization: 40, memBytes: 5 }]
  expect(filled(0, 10, () => ({ gpus })).window(10_000, SPAN)?.gpuUtilization).toBe(40)
  expect(filled(0, 10, () => ({ gpus: [unknown] })).window(10_000, SPAN)?.gpuUtilization).toBe(0)
})

test('there is no window without samples, with too few, or after they stopped', () => {
  expect(new SampleRing(5).window(0, SPAN)).toBeUndefined()
  expect(filled(15, 20).window(20_000, SPAN)).toBeUndefined()
  expect(filled(0, 20).window(24_000, SPAN)).toBeUndefined()
  expect(filled(0, 20).window(21_000, SPAN)).toBeDefined()
})

test('a container whose counters restart has no negative growth', () => {
  const ring = filled(0, 20, second => ({ netRxBytes: second < 15 ? 1_000_000 : 10 }))
  expect(ring.window(20_000, SPAN)?.netBytes).toBe(0)
})

test('work on a GPU that may be the own counts, and that of others does not', () => {
  const device = { utilization: 90, memBytes: 60, totalBytes: 80 }
  const busiest = (utilization: number | null, memBytes: number | null) =>
    filled(0, 10, () => ({ gpus: [{ uuid: 'GPU-1', utilization, memBytes, device }] })).window(10_000, SPAN)
      ?.gpuUtilization
  expect(busiest(0, 20)).toBe(0)
  expect(busiest(30, 20)).toBe(30)
  expect(busiest(null, 20)).toBe(90)
  expect(busiest(null, null)).toBe(90)
  expect(busiest(null, 0)).toBe(0)
})
