import { expect, test } from 'vitest'
import { bodyFraming, endToEnd, hasBody } from './headers.ts'

test('fields of one hop are not forwarded, nor those that Connection names; the others keep order and repetition', () => {
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

test('Connection cannot take away what frames or addresses a request', () => {
  const raw = ['Host', 'h', 'Connection', 'Content-Length, host, ORIGIN', 'Content-Length', '3', 'Origin', 'http://h']
  expect(endToEnd(raw)).toEqual(['Host', 'h', 'Content-Length', '3', 'Origin', 'http://h'])
})

test('a chunked body stays chunked, a sized one stays sized, none stays none', () => {
  expect(bodyFraming(['Transfer-Encoding', 'chunked'])).toEqual(['Transfer-Encoding', 'chunked'])
  expect(bodyFraming(['Content-Length', '3'])).toEqual([])
  expect([['Content-Length', '0'], ['Content-Length', '3'], ['Transfer-Encoding', 'chunked'], []].map(hasBody)).toEqual(
    [false, true, true, false],
  )
})
