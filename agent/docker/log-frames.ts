/**
 * Docker's multiplexed log format (attach and logs of a container without a TTY): frames of an 8-byte header — stream
 * number, three zero bytes, big-endian length — and that many bytes.
 * @see https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerAttach
 * @returns both streams in the order they were written; a cut-off last frame is kept as far as it goes
 */
export function demultiplex(log: Buffer): Buffer {
  const parts: Buffer[] = []
  let at = 0
  while (at + 8 <= log.length) {
    const length = log.readUInt32BE(at + 4)
    parts.push(log.subarray(at + 8, at + 8 + length))
    at += 8 + length
  }
  return Buffer.concat(parts)
}

/**
 * The end of a text that has at most about `limit` bytes as a string of JSON, in which a control character has six times as many: the text
 * travels so.
 */
export function tailOfJson(whole: LogTail, limit: number): LogTail {
  let tail = whole
  for (;;) {
    const size = Buffer.byteLength(JSON.stringify(tail.text))
    if (size <= limit * JSON_LEEWAY) return tail
    const bytes = Buffer.from(tail.text)
    tail = { ...tailBytes(bytes, Math.floor((bytes.length * limit) / size)), truncated: true }
  }
}

/** Quotes and line feeds of a usual log. */
const JSON_LEEWAY = 1.25

export interface LogTail {
  readonly text: string
  readonly truncated: boolean
}

/** The last `limit` bytes, from the start of a line where there is one. */
export function tailBytes(text: Buffer, limit: number): LogTail {
  if (text.length <= limit) return { text: text.toString('utf8'), truncated: false }
  const tail = text.subarray(text.length - limit)
  const newline = tail.indexOf(0x0a)
  return {
    text: tail.subarray(newline >= 0 && newline < tail.length - 1 ? newline + 1 : 0).toString('utf8'),
    truncated: true,
  }
}
