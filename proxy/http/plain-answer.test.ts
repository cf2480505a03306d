import { expect, test } from 'vitest'
import { readPlainAnswer } from './plain-answer.ts'

const read = (text: string, isHead = false) => readPlainAnswer(Buffer.from(text, 'latin1'), isHead)
const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'

test('a head with a length is read byte for byte', () => {
  const head =
    'HTTP/1.1 404 Not \xe9\r\nX-A:b\r\nX-B: \t two words \t\r\nX-\x21: \xe9\xff\r\nX-Empty:\r\nContent-Length: 5\r\n\r\n'
  for (const body of ['', 'half', 'whole']) {
    expect(read(head + body)).toEqual({
      status: 404,
      headers: ['X-A', 'b', 'X-B', 'two words', 'X-!', '\xe9\xff', 'X-Empty', '', 'Content-Length', '5'],
      body: Buffer.from(body),
      missing: 5 - body.length,
      isKept: true,
    })
  }
})

test.each([
  ['an answer to HEAD', `${OK}Content-Length: 5\r\n\r\n`, true, 200],
  ['204 without a length', 'HTTP/1.1 204 No Content\r\n\r\n', false, 204],
  ['304 with the length of the file', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', false, 304],
])('%s has no body', (_, text, isHead, status) => {
  expect(read(text, isHead)).toMatchObject({ status, body: Buffer.alloc(0), missing: 0, isKept: true })
})

test('a body whose chunks are all there is read', () => {
  expect(read(`${OK}${CHUNKED}\r\n2\r\n\xe9\r\r\n00A\r\n0123456789\r\n0\r\n\r\n`)).toMatchObject({
    headers: ['Transfer-Encoding', 'chunked'],
    body: Buffer.from('\xe9\r0123456789', 'latin1'),
    missing: 0,
    isKept: true,
  })
  expect(read(`${OK}${CHUNKED}\r\n0\r\n\r\n`)).toMatchObject({ body: Buffer.alloc(0), missing: 0 })
})

test.each([
  ['Connection: keep-alive', true],
  ['Connection: CLOSE', false],
  ['Keep-Alive: timeout=5, max=100', true],
  ['Keep-Alive: timeout=1', false],
])('%s', (field, isKept) => {
  expect(read(`${OK}${field}\r\nContent-Length: 2\r\n\r\nok`)).toMatchObject({ isKept })
})

test.each([
  ['nothing', ''],
  ['half a head', `${OK}Content-Length: 2\r\n`],
  ['a byte after the body', `${OK}Content-Length: 1\r\n\r\nok`],
  ['a second answer', `${OK}Content-Length: 2\r\n\r\nok${OK}Content-Length: 2\r\n\r\nok`],
  ['a body of 204', 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok'],
  ['no length', `${OK}\r\nok`],
  ['two lengths', `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`],
  ['the same length twice', `${OK}Content-Length: 2\r\ncontent-length: 2\r\n\r\nok`],
  ['a list of lengths', `${OK}Content-Length: 2, 2\r\n\r\nok`],
  ['a negative length', `${OK}Content-Length: -2\r\n\r\nok`],
  ['a hexadecimal length', `${OK}Content-Length: 0x2\r\n\r\nok`],
  ['a length of ten digits', `${OK}Content-Length: 0000000002\r\n\r\nok`],
  ['a transfer coding beside a length', `${OK}Content-Length: 2\r\nTransfer-Encoding: identity\r\n\r\nok`],
  ['another transfer coding', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`],
  ['two transfer codings', `${OK}${CHUNKED}${CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n`],
  ['a length beside chunks', `${OK}${CHUNKED}Content-Length: 12\r\n\r\n2\r\nok\r\n0\r\n\r\n`],
  ['no chunk yet', `${OK}${CHUNKED}\r\n`],
  ['half a size', `${OK}${CHUNKED}\r\n2`],
  ['half a chunk', `${OK}${CHUNKED}\r\n2\r\no`],
  ['chunks without their end', `${OK}${CHUNKED}\r\n2\r\nok\r\n`],
  ['half an end', `${OK}${CHUNKED}\r\n2\r\nok\r\n0\r\n`],
  ['a byte after the chunks', `${OK}${CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n0`],
  ['trailers after the chunks', `${OK}${CHUNKED}\r\n2\r\nok\r\n0\r\nT: v\r\n\r\n`],
  ['an extension of a chunk', `${OK}${CHUNKED}\r\n2;a=b\r\nok\r\n0\r\n\r\n`],
  ['a chunk that is longer than its size', `${OK}${CHUNKED}\r\n2\r\noka\r\n0\r\n\r\n`],
  ['a chunk that ends with bare LF', `${OK}${CHUNKED}\r\n2\r\nok\n0\r\n\r\n`],
  ['a size that is no number', `${OK}${CHUNKED}\r\nz\r\nok\r\n0\r\n\r\n`],
  ['a negative size', `${OK}${CHUNKED}\r\n-2\r\nok\r\n0\r\n\r\n`],
  ['an empty size', `${OK}${CHUNKED}\r\n\r\nok\r\n0\r\n\r\n`],
  ['a size that overflows', `${OK}${CHUNKED}\r\nffffffffffffffff\r\nok\r\n0\r\n\r\n`],
  ['many chunks', `${OK}${CHUNKED}\r\n${'1\r\nx\r\n'.repeat(5_000)}0\r\n\r\n`],
  ['chunks of 204', `HTTP/1.1 204 No Content\r\n${CHUNKED}\r\n0\r\n\r\n`],
  ['100', 'HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n'],
  ['101', 'HTTP/1.1 101 X\r\nContent-Length: 0\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n'],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
  ['a control character in the reason', 'HTTP/1.1 200 \x01\r\nContent-Length: 2\r\n\r\nok'],
  ['an empty line first', `\r\n${OK}Content-Length: 2\r\n\r\nok`],
  ['a folded field', `${OK}X: a\r\n b\r\nContent-Length: 2\r\n\r\nok`],
  ['a blank before the colon', `${OK}Content-Length : 2\r\n\r\nok`],
  ['no colon', `${OK}X\r\nContent-Length: 2\r\n\r\nok`],
  ['no name', `${OK}: x\r\nContent-Length: 2\r\n\r\nok`],
  ['bare LF', `HTTP/1.1 200 OK\nContent-Length: 2\n\nok`],
  ['bare LF in a field', `${OK}X: a\nContent-Length: 2\r\n\r\nok`],
  ['bare CR in a field', `${OK}X: a\rY: b\r\nContent-Length: 2\r\n\r\nok`],
  ['NUL in a field', `${OK}X: \0\r\nContent-Length: 2\r\n\r\nok`],
  ['DEL in a field', `${OK}X: \x7f\r\nContent-Length: 2\r\n\r\nok`],
  ['an upgrade', `${OK}Upgrade: x\r\nContent-Length: 2\r\n\r\nok`],
  ['a Connection field that names another', `${OK}Connection: content-length\r\nContent-Length: 2\r\n\r\nok`],
  ['two Connection fields', `${OK}Connection: close\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok`],
  ['trailers', `${OK}Trailer: X\r\nContent-Length: 2\r\n\r\nok`],
  ['a long head', `${OK}X: ${'y'.repeat(9_000)}\r\nContent-Length: 2\r\n\r\nok`],
  ['101 fields', `${OK}${'X: y\r\n'.repeat(100)}Content-Length: 2\r\n\r\nok`],
])('%s is left to Node’s parser', (_, text) => {
  expect(read(text)).toBeUndefined()
})

test.each([
  ['before a byte that is not allowed', `X:${' '.repeat(8_000)}\0`],
  ['between two words', `X: a${' '.repeat(8_000)}b`],
])('thousands of blanks %s cost little', (_, field) => {
  const bytes = Buffer.from(`${OK}${field}\r\nContent-Length: 2\r\n\r\nok`)
  const begin = performance.now()
  for (let i = 0; i < 200; i++) readPlainAnswer(bytes, false)
  expect(performance.now() - begin).toBeLessThan(1_000)
})
