import fc from 'fast-check'
import { expect, test } from 'vitest'
import { processLimit } from './process-limit.ts'

const GiB = 2 ** 30
const MiB = 2 ** 20
/** pid_max of a host with at most 32 cores, where nothing raises it. */
const SMALL = 32_768

test('usual hosts give each session all that it may have', () => {
  expect(processLimit({ mem: GiB, hostMem: 64 * GiB, hostProcesses: 524_288 })).toBe(4096)
  expect(processLimit({ mem: GiB, hostMem: 64 * GiB, hostProcesses: undefined })).toBe(4096)
})

test('a host with few process ids gives a share by memory', () => {
  const of = (mem: number) => processLimit({ mem, hostMem: 24 * GiB, hostProcesses: SMALL })
  expect([200 * MiB, GiB, 4 * GiB, 16 * GiB].map(of)).toEqual([133, 682, 2730, 4096])
  expect(of(64 * MiB)).toBe(128)
})

test('sessions that fill the memory of a host leave it half of its process ids', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 200, max: 8192 }), { minLength: 1, maxLength: 100 }), sizes => {
      const hostMem = 24 * GiB
      let free = hostMem
      let processes = 0
      for (const mem of sizes.map(size => size * MiB)) {
        if (mem > free) continue
        free -= mem
        processes += processLimit({ mem, hostMem, hostProcesses: SMALL })
      }
      expect(processes).toBeLessThanOrEqual(SMALL / 2)
    }),
  )
})
