import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createKeptOutput } from './kept-output.ts'

test('the last bytes are kept, each at its place, however they were written', () => {
  const LIMIT = 10_000
  fc.assert(
    fc.property(fc.array(fc.nat(25_000), { maxLength: 12 }), fc.nat(40_000), fc.nat(9_000), (sizes, offset, most) => {
      const kept = createKeptOutput(LIMIT)
      const all = Buffer.from(
        Array.from({ length: sizes.reduce((a, b) => a + b, 0) }, (_, at) => (at * 7 + (at >> 8)) & 255),
      )
      let at = 0
      for (const size of sizes) kept.push(all.subarray(at, (at += size)))
      expect(kept.total).toBe(all.length)
      expect(kept.size).toBeLessThanOrEqual(LIMIT)
      const read = kept.read(offset, most)
      const from = Math.min(Math.max(offset, all.length - LIMIT), all.length)
      expect(read.offset).toBe(Math.max(0, from))
      expect(read.bytes.equals(all.subarray(read.offset, read.offset + most))).toBe(true)
    }),
    { numRuns: 60 },
  )
})
