import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMarkedStream } from './end-marker.ts'

const MARKER = Buffer.from('\u001b]berth-end 0123\u0007')

test('the output in front of the marker is passed on unchanged, however it is cut', () => {
  const piece = fc.constantFrom('a', 'bc\n', '\u001b', '\u001b]berth', '\u001b]berth-end 0124\u0007', '\0')
  fc.assert(
    fc.property(fc.array(piece), fc.integer({ min: 1, max: 7 }), (pieces, size) => {
      const output = Buffer.from(pieces.join(''))
      const all = Buffer.concat([output, MARKER, Buffer.from('137\nlate')])
      const stream = createMarkedStream(MARKER)
      const passed: Buffer[] = []
      for (let at = 0; at < all.length; at += size) passed.push(Buffer.from(stream.push(all.subarray(at, at + size))))
      expect(Buffer.concat(passed)).toEqual(output)
      expect(stream.after).toBe('137')
    }),
  )
})

test('a stream without its marker has no end, and nothing of it is kept', () => {
  const stream = createMarkedStream(MARKER)
  expect(stream.push(Buffer.from('x\u001b]ber')).toString()).toBe('x')
  expect(stream.push(Buffer.from('y')).toString()).toBe('\u001b]bery')
  expect(stream.after).toBeUndefined()
  stream.push(MARKER)
  expect(stream.after).toBeUndefined()
  stream.push(Buffer.alloc(100, 'z'))
  expect(stream.after).toBe('z'.repeat(16))
})
