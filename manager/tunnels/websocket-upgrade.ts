import { createHash } from 'node:crypto'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { type Duplex } from 'node:stream'
import { AppError, ERRORS, toProblem } from '#manager/contract'

/** RFC 6455, section 1.3. */
const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

export interface WebSocketUpgrade {
  readonly key: string
  /** Subprotocols that the client offers. */
  readonly protocols: readonly string[]
}

/** Parses an upgrade with the server's checks of RFC 6455, section 4.2.1. @throws AppError `bad_request` */
export function parseWebSocketUpgrade({ method, headers }: IncomingMessage): WebSocketUpgrade {
  const key = headers['sec-websocket-key'] ?? ''
  if (
    method !== 'GET' ||
    headers.upgrade?.toLowerCase() !== 'websocket' ||
    headers['sec-websocket-version'] !== '13' ||
    !/^[A-Za-z0-9+/]{22}==$/.test(key)
  ) {
    throw new AppError('bad_request', { why: 'This address accepts only WebSocket, version 13.' })
  }
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map(protocol => protocol.trim())
  return { key, protocols: protocols.filter(protocol => protocol !== '') }
}

/**
 * Builds the response that accepts a WebSocket upgrade.
 *
 * @param protocol the chosen subprotocol; undefined for a client that offered none of ours
 */
export function acceptWebSocket(key: string, protocol: string | undefined): string {
  const accept = createHash('sha1')
    .update(key + WEBSOCKET_GUID)
    .digest('base64')
  const chosen = protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`
  return (
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
    `Sec-WebSocket-Accept: ${accept}\r\n${chosen}\r\n`
  )
}

/** Answers an upgrade with the problem document of an error and ends the connection. */
export function refuseUpgrade(socket: Duplex, error: unknown): void {
  if (socket.destroyed || !socket.writable) return
  const problem = toProblem(error)
  const body = JSON.stringify(problem)
  const status = ERRORS[problem.code as keyof typeof ERRORS].status
  socket.on('error', () => socket.destroy())
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
  // Discard bytes that the client still sends: unread bytes would turn the end into a reset.
  socket.resume()
  let timer = setTimeout(() => socket.destroy(), UNREAD_MS).unref()
  socket.once('finish', () => {
    clearTimeout(timer)
    timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  })
  socket.once('close', () => clearTimeout(timer))
}

const LINGER_MS = 1000
/** A peer that does not accept the answer within this time is cut. */
const UNREAD_MS = 30_000
