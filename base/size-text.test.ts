import { expect, test } from 'vitest'
import { sizeText } from './size-text.ts'

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1024, '1 KiB'],
  [1024 ** 2 - 1, '1 MiB'],
  [1024 ** 2 - 100 * 1024, '924 KiB'],
  [700 * 1024, '700 KiB'],
  [1536 * 2 ** 20, '1.5 GiB'],
  [2 ** 52, '4096 TiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text)
})
