import { expect, test } from 'vitest'
import { withoutRepeatedLength } from './repeated-length.ts'

const mended = (text: string) => withoutRepeatedLength(Buffer.from(text, 'latin1')).toString('latin1')
const OK = 'HTTP/1.1 200 OK\r\n'

test('a length that is there again is dropped; bytes beyond the head stay', () => {
  const body = 'Content-Length: 5\r\n\xff'
  expect(mended(`${OK}A: \xe9\r\nContent-Length: 5\r\nB: 1\r\nCONTENT-LENGTH:  5\t\r\n\r\n${body}`)).toBe(
    `${OK}A: \xe9\r\nContent-Length: 5\r\nB: 1\r\n\r\n${body}`,
  )
})

test.each([
  ['one length', `${OK}Content-Length: 5\r\n\r\nhello`],
  ['no length', `${OK}\r\n`],
  ['different lengths', `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
  ['one length in two forms', `${OK}Content-Length: 5\r\nContent-Length: 05\r\n\r\nhello`],
  ['a list', `${OK}Content-Length: 5\r\nContent-Length: 5, 5\r\n\r\nhello`],
  ['a blank before the colon', `${OK}Content-Length: 5\r\nContent-Length : 5\r\n\r\nhello`],
  ['a line that continues', `${OK}Content-Length: 5\r\nA: 1\r\n\tContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
  ['half a head', `${OK}Content-Length: 5\r\nContent-Length: 5\r\n`],
  ['no HTTP', 'SSH-2.0-x\r\n'],
])('stays as it is: %s', (_, text) => {
  expect(mended(text)).toBe(text)
})

test('of three lengths the different one stays, so that it is refused', () => {
  expect(mended(`${OK}Content-Length: 5\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n`)).toBe(
    `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`,
  )
})
