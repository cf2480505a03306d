/** A whole answer of the plainest kind: a final status, fields, and a body whose length is known. */
export interface PlainAnswer {
  readonly status: number
  /** As Node's `rawHeaders`. */
  readonly headers: string[]
  /** One character for each byte. */
  readonly body: string
  /** The connection serves another request. */
  readonly isKept: boolean
}

/** Longest answer that is looked at, head and body. */
const LONGEST = 24 * 1024
const LONGEST_HEAD = 8 * 1024
const MOST_FIELDS = 100

const STATUS_LINE = /^HTTP\/1\.1 ([2-9]\d\d) [\t -~\x80-\xff]*$/
/** RFC 9110 section 5.6.2 and 5.5: `token`, optional blanks, and a value of visible characters and blanks. */
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t -~\x80-\xff]*)$/
/** A length that no sum of lengths can overflow. */
const LENGTH = /^\d{1,9}$/
const TRAILING_BLANKS = /[ \t]+$/
/** A server that announces a shorter time may close the connection while the next request is on its way. */
const SHORTEST_KEEP_SECONDS = 2

/**
 * Recognises an answer that is there completely, with nothing after it, and whose meaning no two parsers disagree on.
 *
 * Threat model: the app chooses every byte. This is no second HTTP parser beside Node's: whatever is not of this one form gives
 * undefined, and Node's parser then judges the same bytes. Not of this form are, among others: a 1xx status, two lengths or
 * none, any transfer coding, a folded or long field, bare LF or NUL, a Connection field other than `keep-alive` or `close`, a
 * body that is not complete, and any byte after it (an app must not get to answer the next request on this connection).
 *
 * @param isHead the request was a HEAD: the answer has no body, whatever its length says
 */
export function readPlainAnswer(bytes: Buffer, isHead: boolean): PlainAnswer | undefined {
  if (bytes.length > LONGEST) return undefined
  const text = bytes.toString('latin1')
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0 || headEnd > LONGEST_HEAD) return undefined
  let lineEnd = text.indexOf('\r\n')
  const statusLine = STATUS_LINE.exec(text.slice(0, lineEnd))
  if (!statusLine) return undefined
  const status = Number(statusLine[1])

  const headers: string[] = []
  let length: number | undefined
  let connection: string | undefined
  let isKept = true
  while (lineEnd < headEnd) {
    const start = lineEnd + 2
    lineEnd = text.indexOf('\r\n', start)
    const field = FIELD.exec(text.slice(start, lineEnd))
    if (!field || headers.length >= 2 * MOST_FIELDS) return undefined
    const [, name = '', padded = ''] = field
    const value = padded.replace(TRAILING_BLANKS, '')
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
      case 'upgrade':
      case 'trailer':
      case 'proxy-connection':
        return undefined
    }
  }

  const isBodiless = isHead || status === 204 || status === 304
  if (!isBodiless && length === undefined) return undefined
  const bodyAt = headEnd + 4
  if (text.length - bodyAt !== (isBodiless ? 0 : length)) return undefined
  return { status, headers, body: text.slice(bodyAt), isKept }
}
