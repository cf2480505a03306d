import fc from 'fast-check'
import { expect, test } from 'vitest'
import { COMMAND_FRAME, commandFrameHeader, createCommandFrameReader, createFrameText } from './command-stream.ts'

test('frames are read as they were written, however the bytes are cut on the way', () => {
  const frames = fc.array(fc.record({ kind: fc.constantFrom(...Object.values(COMMAND_FRAME)), bytes: fc.uint8Array() }))
  fc.assert(
    fc.property(frames, fc.integer({ min: 1, max: 9 }), (written, size) => {
      const all = written.flatMap(({ kind, bytes }) => [...commandFrameHeader(kind, bytes.length), ...bytes])
      const read: { kind: number; bytes: number[] }[] = []
      let bytes: number[] = []
      const push = createCommandFrameReader((kind, part, isLast) => {
        bytes.push(...part)
        if (!isLast) return
        read.push({ kind, bytes })
        bytes = []
      })
      for (let at = 0; at < all.length; at += size) push(Uint8Array.from(all.slice(at, at + size)))
      expect(read).toEqual(written.map(({ kind, bytes }) => ({ kind, bytes: [...bytes] })))
    }),
  )
})

test('a text is collected, and one without an end is refused', () => {
  const text = createFrameText()
  expect(text(Uint8Array.from([73, 78]), false)).toBeUndefined()
  expect(text(Uint8Array.from([84]), true)).toBe('INT')
  expect(text(new Uint8Array(0), true)).toBe('')
  expect(text(new Uint8Array(1_000), false)).toBeUndefined()
  expect(() => text(new Uint8Array(100), false)).toThrow('too long')
})
