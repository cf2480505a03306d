import { expect, test, vi } from 'vitest'
import { KernelId, type PullProgress } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { createLiveStats } from './live.ts'

type Layer = PullProgress['layers'][number]
const GiB = 2 ** 30
const pulled = (layer: Partial<Layer>): PullProgress => ({
  layersDone: 0,
  layersTotal: 1,
  bytesDone: GiB,
  bytesTotal: GiB,
  layers: [{ id: 'one', status: 'Extracting', bytesDone: GiB, bytesTotal: GiB, ...layer }],
})

test('a pull makes progress while a layer is unpacked, and none while it is only retried', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const live = createLiveStats(() => 0)
    const [main, sub] = [newId(KernelId), newId(KernelId)]
    expect(live.pullQuietMs([main, sub])).toBeUndefined()
    for (const unpacked of [1, 2, 3]) {
      live.setPull(main, pulled({ unpacked }))
      expect(live.pullQuietMs([main, sub])).toBe(0)
      vi.advanceTimersByTime(60_000)
    }
    live.setPull(main, pulled({ status: 'Retrying in 5 seconds', unpacked: 3 }))
    live.setPull(main, pulled({ status: 'Retrying in 4 seconds', unpacked: 3 }))
    expect(live.pullQuietMs([main, sub])).toBe(60_000)
    live.setPull(sub, pulled({}))
    expect(live.pullQuietMs([main, sub])).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
