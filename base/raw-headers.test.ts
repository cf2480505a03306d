import { expect, test } from 'vitest'
import { bodyFraming, endToEnd, hasBody } from './raw-headers.ts'

test('hop-by-hop fields, and those that Connection names, are not forwarded; others keep order and repetition', () => {
  const raw = [
    'A',
    '1',
    'Connection',
    'close, X-Hop',
    'x-hop',
    '2',
    'Keep-Alive',
    't',
    'Set-Cookie',
    'a',
    'Set-Cookie',
    'b',
  ]
  expect(endToEnd(raw)).toEqual(['A', '1', 'Set-Cookie', 'a', 'Set-Cookie', 'b'])
})

test('Connection cannot remove fields that frame or address a request', () => {
  const raw = ['Host', 'h', 'Connection', 'Content-Length, host, ORIGIN', 'Content-Length', '3', 'Origin', 'http://h']
  expect(endToEnd(raw)).toEqual(['Host', 'h', 'Content-Length', '3', 'Origin', 'http://h'])
})

test('a chunked body stays chunked, a sized one sized, and no body stays none', () => {
  expect(bodyFraming(['Transfer-Encoding', 'chunked'])).toEqual(['Transfer-Encoding', 'chunked'])
  expect(bodyFraming(['Content-Length', '3'])).toEqual([])
  expect([['Content-Length', '0'], ['Content-Length', '3'], ['Transfer-Encoding', 'chunked'], []].map(hasBody)).toEqual(
    [false, true, true, false],
  )
})
