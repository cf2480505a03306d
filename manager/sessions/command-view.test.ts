import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wholeCharacters } from './command-view.ts'

test('a text that is cut anywhere is whole again when its parts are put together', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(20), (text, cut) => {
      const bytes = Buffer.from(text)
      const first = bytes.subarray(0, cut)
      const length = wholeCharacters(first)
      expect(first.length - length).toBeLessThanOrEqual(3)
      expect(bytes.toString('utf8', 0, length) + bytes.toString('utf8', length)).toBe(bytes.toString())
    }),
  )
  // Bytes that are no text are not waited for.
  expect(wholeCharacters(Buffer.from([0x80, 0x80, 0x80, 0x80]))).toBe(4)
  expect(wholeCharacters(Buffer.from([0x61, 0xff]))).toBe(2)
})
