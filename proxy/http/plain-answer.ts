import { SHORTEST_KEEP_SECONDS } from './leased-connection.ts'

/** An answer of the plainest kind: a final status, fields, and a body whose length is known. */
export interface PlainAnswer {
  readonly status: number
  /** As Node's `rawHeaders`. */
  readonly headers: string[]
  /** Bytes of the body that have arrived. */
  readonly body: Buffer
  /** Number of bytes of the body that are still to come. */
  readonly missing: number
  /** The connection serves another request. */
  readonly isKept: boolean
}

const LONGEST_HEAD = 8 * 1024
const MOST_FIELDS = 100
/** Longest answer in chunks. */
const LONGEST_CHUNKED = 24 * 1024

const STATUS_LINE = /^HTTP\/1\.1 ([2-9]\d\d) [\t -~\x80-\xff]*$/
/** RFC 9110 section 5.6.2 and 5.5: `token`, and a value of visible characters and blanks. One way to match it only: linear time. */
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t -~\x80-\xff]*)$/
/** A size in hexadecimal digits, without an extension. */
const CHUNK_SIZE = /^[0-9a-fA-F]{1,6}$/
/** A length that no sum of lengths can overflow. */
const LENGTH = /^\d{1,9}$/

/**
 * Recognises an answer whose head is there completely, as is its body if that comes in chunks, and whose meaning no two parsers disagree
 * on.
 *
 * Threat model: the app chooses every byte. This is no second HTTP parser beside Node's: anything not of this one form gives undefined, and
 * Node's parser then judges the same bytes. Examples of other forms: a 1xx status, two lengths or none, a length beside a transfer coding,
 * chunks that are not all there or have extensions or trailers, a folded or long field, bare LF or NUL, a Connection field other than
 * `keep-alive` or `close`, and any byte after the body (an app must not get to answer the next request on this connection).
 *
 * @param bytes all that was received so far
 * @param isHead the request was a HEAD: the answer has no body, whatever its length says
 */
export function readPlainAnswer(bytes: Buffer, isHead: boolean): PlainAnswer | undefined {
  const text = bytes.toString('latin1', 0, LONGEST_HEAD)
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  let lineEnd = text.indexOf('\r\n')
  const statusLine = STATUS_LINE.exec(text.slice(0, lineEnd))
  if (!statusLine) return undefined
  const status = Number(statusLine[1])

  const headers: string[] = []
  let length: number | undefined
  let isChunked = false
  let connection: string | undefined
  let isKept = true
  while (lineEnd < headEnd) {
    const start = lineEnd + 2
    lineEnd = text.indexOf('\r\n', start)
    const field = FIELD.exec(text.slice(start, lineEnd))
    if (!field || headers.length >= 2 * MOST_FIELDS) return undefined
    const [, name = '', padded = ''] = field
    const value = withoutBlanks(padded)
    headers.push(name, value)
    switch (name.toLowerCase()) {
      case 'content-length':
        if (length !== undefined || !LENGTH.test(value)) return undefined
        length = Number(value)
        break
      case 'connection':
        if (connection !== undefined) return undefined
        connection = value.toLowerCase()
        if (connection === 'close') isKept = false
        else if (connection !== 'keep-alive') return undefined
        break
      case 'keep-alive': {
        const seconds = /^timeout=(\d+)/.exec(value)?.[1]
        if (seconds !== undefined && Number(seconds) < SHORTEST_KEEP_SECONDS) isKept = false
        break
      }
      case 'transfer-encoding':
        if (isChunked || value.toLowerCase() !== 'chunked') return undefined
        isChunked = true
        break
      case 'upgrade':
      case 'trailer':
      case 'proxy-connection':
        return undefined
    }
  }

  const isBodiless = isHead || status === 204 || status === 304
  const received = bytes.subarray(headEnd + 4)
  if (isChunked) {
    const body = isBodiless || length !== undefined ? undefined : readChunks(received)
    return body && { status, headers, body, missing: 0, isKept }
  }
  const bodyLength = isBodiless ? 0 : length
  if (bodyLength === undefined || received.length > bodyLength) return undefined
  return { status, headers, body: received, missing: bodyLength - received.length, isKept }
}

/** Not `trim`, which takes byte 160 for a blank. */
function withoutBlanks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text.charCodeAt(from))) from++
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const isBlank = (code: number) => code === 32 || code === 9

/** A body in chunks that is there completely, with nothing after it. */
function readChunks(bytes: Buffer): Buffer | undefined {
  if (bytes.length > LONGEST_CHUNKED) return undefined
  const chunks: Buffer[] = []
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const line = bytes.toString('latin1', at, Math.max(at, lineEnd))
    if (!CHUNK_SIZE.test(line)) return undefined
    const from = lineEnd + 2
    const to = from + Number.parseInt(line, 16)
    if (bytes[to] !== CR || bytes[to + 1] !== LF) return undefined
    if (to === from) return to + 2 === bytes.length ? Buffer.concat(chunks) : undefined
    chunks.push(bytes.subarray(from, to))
    at = to + 2
  }
}

const CR = 13
const LF = 10
