import { describe, expect, test } from 'vitest'
import { AppError, type SessionStats } from '#manager/contract'
import { type StatsMinute } from '../store/tables/operation.ts'
import { MAX_POINTS, rangeOf } from './history.ts'
import { MinuteSums } from './minute.ts'
import { addSources, type Point, toSteps } from './steps.ts'
import { usageOf } from './usage.ts'

const minute = (change: Partial<StatsMinute> = {}): StatsMinute => ({
  samples: 60,
  cpuMilli: 100,
  cpuSeconds: 6,
  memBytes: 1000,
  memPeakBytes: 2000,
  netRxBytes: 1,
  netTxBytes: 2,
  diskReadBytes: 3,
  diskWriteBytes: 4,
  scratchBytes: null,
  gpus: [],
  ...change,
})
const point = (at: number, change: Partial<StatsMinute> = {}): Point => ({ ...minute(change), at })

describe('steps', () => {
  test('a step weighs means by their samples, and keeps the largest peak and the last totals', () => {
    const steps = toSteps(
      [
        point(0, { samples: 30, cpuMilli: 100, memPeakBytes: 9000 }),
        point(60, { samples: 10, cpuMilli: 500, netRxBytes: 77 }),
      ],
      100,
    )
    expect(steps).toMatchObject([{ at: 0, samples: 40, cpuMilli: 200, memPeakBytes: 9000, netRxBytes: 77 }])
  })

  test('means of a GPU cover its known values; values that are never known stay unknown', () => {
    const gpu = (utilization: number | null, memBytes: number | null) => [{ uuid: 'GPU-1', utilization, memBytes }]
    const points = [point(0, { gpus: gpu(30, null) }), point(60, { gpus: gpu(null, null) })]
    expect(toSteps(points, 100)[0]?.gpus).toEqual(gpu(30, null))
  })

  test('steps begin at multiples of their length, and steps without samples are missing', () => {
    expect(toSteps([point(60), point(300), point(330)], 100).map(({ at }) => at)).toEqual([0, 300])
  })

  test('steps of several kernels are added up', () => {
    const gpus = [{ uuid: 'GPU-1', utilization: 50, memBytes: 7 }]
    const sum = addSources([[point(0), point(100)], [point(100, { cpuMilli: 300, scratchBytes: 5, gpus })]])
    expect(sum).toMatchObject([
      { at: 0, cpuMilli: 100 },
      { at: 100, cpuMilli: 400, memBytes: 2000, scratchBytes: 5, gpus },
    ])
  })
})

describe('a minute', () => {
  const sample = (change: Partial<SessionStats>): SessionStats => {
    const { samples: _, ...figures } = minute()
    return { at: '2026-01-01T00:00:00.000Z', ...figures, gpus: [], ...change }
  }

  test('a minute holds what is known of a GPU, and leaves out what is not', () => {
    const gpu = (utilization: number | null, memBytes: number | null) => [{ uuid: 'GPU-1', utilization, memBytes }]
    const sums = new MinuteSums()
    for (const gpus of [gpu(null, 8), gpu(null, 4)]) sums.add(sample({ gpus }))
    expect(sums.mean(0)?.gpus).toEqual(gpu(null, 6))
  })

  test('a minute is the mean of its samples, with the totals of the last one', () => {
    const sums = new MinuteSums()
    sums.add(
      sample({ cpuMilli: 100, memBytes: 10, cpuSeconds: 1, gpus: [{ uuid: 'G', utilization: 90, memBytes: 4 }] }),
    )
    sums.add(
      sample({ cpuMilli: 300, memBytes: 30, cpuSeconds: 1.3, gpus: [{ uuid: 'G', utilization: 10, memBytes: 2 }] }),
    )
    expect(sums.mean(0)).toMatchObject({
      samples: 2,
      cpuMilli: 200,
      memBytes: 20,
      cpuSeconds: 1.3,
      gpus: [{ uuid: 'G', utilization: 50, memBytes: 3 }],
    })
  })

  test('the minute of an agent without CPU seconds adds up the measured use', () => {
    const sums = new MinuteSums()
    for (let i = 0; i < 60; i++) {
      const { cpuSeconds: _, ...old } = sample({ cpuMilli: 500 })
      sums.add(old)
    }
    expect(sums.mean(10)?.cpuSeconds).toBe(40)
  })
})

describe('the range of a request', () => {
  const now = Date.parse('2026-06-01T12:00:00.000Z')
  const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString()

  test('the default range is the last hour by the minute', () => {
    expect(rangeOf({}, now)).toMatchObject({ from: now - 3_600_000, to: now, stepMs: 60_000, fine: false })
  })

  test('a range within memory is answered by the second', () => {
    expect(rangeOf({ from: ago(4) }, now)).toMatchObject({ stepMs: 1_000, fine: true })
    expect(rangeOf({ from: ago(4), step: 10 }, now)).toMatchObject({ stepMs: 10_000, fine: true })
    expect(rangeOf({ from: ago(6), step: 10 }, now)).toMatchObject({ stepMs: 60_000, fine: false })
  })

  test('a range never has more points than a reply may hold', () => {
    const { from, to, stepMs } = rangeOf({ from: ago(7 * 24 * 60), step: 60 }, now)
    expect((to - from) / stepMs).toBeLessThanOrEqual(MAX_POINTS)
    expect(stepMs % 60_000).toBe(0)
  })

  test('a range must not end before it begins', () => {
    expect(() => rangeOf({ from: ago(1), to: ago(2) }, now)).toThrow(AppError)
  })
})

describe('usage of a session', () => {
  test('usage is unknown before the first figures', () => {
    expect(usageOf({ live: [null], stored: undefined, held: [{ gpus: 1, ms: 1000 }] })).toBeNull()
  })

  test('usage comes from counters and from held resources: half a GPU for an hour is half a GPU-hour', () => {
    const usage = usageOf({ live: [], stored: minute({ cpuSeconds: 12.34 }), held: [{ gpus: 0.5, ms: 3_600_000 }] })
    expect(usage).toEqual({ cpuSeconds: 12.3, gpuSeconds: 1800, memPeakBytes: 2000 })
  })
})
