import { expect, test } from 'vitest'
import { releaseBytes } from './release-bytes.ts'

test('a chunk with memory of its own has none afterwards; one that shares memory keeps it', () => {
  const own = Buffer.from(new ArrayBuffer(64 * 1024))
  releaseBytes(own)
  expect(own.byteLength).toBe(0)

  const memory = new ArrayBuffer(100)
  const half = Buffer.from(memory, 0, 50).fill(7)
  releaseBytes(half)
  expect([half.byteLength, half[49]]).toEqual([50, 7])
})
