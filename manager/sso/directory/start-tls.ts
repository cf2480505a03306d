import { once } from 'node:events'
import { type Socket } from 'node:net'

/** ExtendedRequest with the object identifier of StartTLS, message 1. RFC 4511, sections 4.12 and 4.14.1 */
const REQUEST = Buffer.concat([
  Buffer.from([0x30, 0x1d, 0x02, 0x01, 0x01, 0x77, 0x18, 0x80, 0x16]),
  Buffer.from('1.3.6.1.4.1.1466.20037'),
])
const EXTENDED_RESPONSE = 0x78
/** Longer answers are refused: an answer to StartTLS has a code and a line of text. */
const MAX_BYTES = 4096

export class StartTlsRefused extends Error {
  override readonly name = 'StartTlsRefused'
}

/**
 * Asks a server to switch to TLS.
 *
 * Threat model: whoever is on the way can write into this answer, as nothing is encrypted yet. So exactly one message is read; a byte after
 * it could become the beginning of a forged answer inside TLS, and ends the attempt. The library's own StartTLS keeps such bytes.
 *
 * @param socket connected, and read by nobody else
 * @throws StartTlsRefused, and the error of the socket
 */
export async function askForTls(socket: Socket): Promise<void> {
  socket.write(REQUEST)
  let answer = Buffer.alloc(0)
  for (;;) {
    const chunk = socket.read() as Buffer | null
    if (chunk) answer = Buffer.concat([answer, chunk])
    const length = messageLength(answer)
    if (answer.length > MAX_BYTES || (length !== undefined && answer.length > length)) {
      throw new StartTlsRefused('the server sent more than one answer')
    }
    if (length !== undefined && answer.length === length) break
    if (chunk) continue
    if (socket.readableEnded || socket.destroyed) throw new StartTlsRefused('the server closed the connection')
    await Promise.race([once(socket, 'readable'), once(socket, 'close')])
  }
  const code = resultOf(answer)
  if (code !== 0) throw new StartTlsRefused(`the server answered with code ${code ?? 'unknown'}`)
}

/** Length of the whole message in bytes; undefined while the beginning is missing. */
function messageLength(bytes: Buffer): number | undefined {
  const header = lengthAt(bytes, 1)
  return header && header.end + header.length
}

/** A length of BER at this place, and the place after it. Longer forms than of two bytes are not needed. */
function lengthAt(bytes: Buffer, at: number): { readonly length: number; readonly end: number } | undefined {
  const first = bytes[at]
  if (first === undefined) return undefined
  if (first < 0x80) return { length: first, end: at + 1 }
  const count = first - 0x80
  if (count === 0 || count > 2) throw new StartTlsRefused('the answer is not one of LDAP')
  if (bytes.length < at + 1 + count) return undefined
  return { length: bytes.readUIntBE(at + 1, count), end: at + 1 + count }
}

/** The result code of an ExtendedResponse to message 1; undefined for anything else. */
function resultOf(bytes: Buffer): number | undefined {
  const start = lengthAt(bytes, 1)?.end
  if (bytes[0] !== 0x30 || start === undefined) return undefined
  const isFirst = bytes[start] === 0x02 && bytes[start + 1] === 1 && bytes[start + 2] === 1
  if (!isFirst || bytes[start + 3] !== EXTENDED_RESPONSE) return undefined
  const inner = lengthAt(bytes, start + 4)?.end
  if (inner === undefined || bytes[inner] !== 0x0a || bytes[inner + 1] !== 1) return undefined
  return bytes[inner + 2]
}
