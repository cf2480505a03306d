import { expect, test } from 'vitest'
import { createMarkLimit } from './hostile-text.ts'

const MARK = '\u0301'
const bytes = (text: string) => new TextEncoder().encode(text)

test('a letter keeps a few marks, however the bytes are divided', () => {
  const text = `a${MARK.repeat(40)}b${MARK}\u001b[m한각💾c${MARK.repeat(17)}`
  const limited = `a${MARK.repeat(16)}b${MARK}\u001b[m한각💾c${MARK.repeat(16)}`
  for (const size of [1, 2, 3, 7, 1000]) {
    const limit = createMarkLimit()
    const all = bytes(text)
    let shown = ''
    for (let at = 0; at < all.length; at += size) shown += limit(all.subarray(at, at + size))
    expect(shown, `parts of ${size}`).toBe(limited)
  }
})

test('a million marks are few', () => {
  expect(createMarkLimit()(bytes(`a${MARK.repeat(1_000_000)}`))).toHaveLength(17)
})
