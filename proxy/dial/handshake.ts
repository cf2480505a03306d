import { createHash, randomBytes } from 'node:crypto'
import { type Socket } from 'node:net'
import { parseJson } from '#base/parse-json'
import { AppError, because, fromProblem, isProblem } from '#manager/contract/light'

/** RFC 6455, section 1.3. */
const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const MAX_HEAD_BYTES = 16 * 1024
const MAX_BODY_BYTES = 64 * 1024

export interface Handshake {
  readonly host: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The protocols offered, the preferred one first. */
  readonly protocols: readonly string[]
}

/**
 * Sends the upgrade request and reads the answer. On 101 the socket is paused, and bytes that came with the answer are put back
 * into it.
 *
 * The client's bytes are not sent before 101: an intermediary that does not upgrade would take them for a second request.
 *
 * @throws AppError of the problem document, or `unavailable` for any other answer
 */
export async function shakeHands(socket: Socket, { host, path, headers, protocols }: Handshake): Promise<void> {
  const key = randomBytes(16).toString('base64')
  const lines = {
    host,
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    'sec-websocket-protocol': protocols.join(', '),
    ...headers,
  }
  const request = Object.entries(lines).map(([name, value]) => `${name}: ${oneLine(name, value)}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${request.join('')}\r\n`, 'latin1')

  const answer = await readAnswer(socket)
  if (answer.status !== 101) throw refusal(answer)
  const accept = createHash('sha1')
    .update(key + WEBSOCKET_GUID)
    .digest('base64')
  if (answer.headers.get('sec-websocket-accept') !== accept) throw notOurs('a wrong Sec-WebSocket-Accept')
  if (!protocols.includes(answer.headers.get('sec-websocket-protocol') ?? '')) throw notOurs('another subprotocol')
}

interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

function readAnswer(socket: Socket): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let got: Buffer = Buffer.alloc(0)
    let head: Omit<Answer, 'body'> | undefined
    let bodyAt = 0

    const finish = (settle: () => void) => {
      socket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
      settle()
    }
    const fail = (error: Error) => finish(() => reject(error))
    const succeed = (answer: Answer) => finish(() => resolve(answer))

    const onData = (chunk: Buffer) => {
      try {
        take(chunk)
      } catch (error) {
        fail(error as Error)
      }
    }
    const take = (chunk: Buffer) => {
      got = got.length === 0 ? chunk : Buffer.concat([got, chunk])
      if (!head) {
        const end = got.indexOf('\r\n\r\n')
        if (end < 0) {
          if (got.length > MAX_HEAD_BYTES) fail(notOurs('too long a header'))
          return
        }
        head = parseHead(got.toString('latin1', 0, end))
        bodyAt = end + 4
        if (head.status === 101) {
          socket.pause()
          if (got.length > bodyAt) socket.unshift(got.subarray(bodyAt))
          succeed({ ...head, body: '' })
          return
        }
      }
      const wanted = Number(head.headers.get('content-length') ?? MAX_BODY_BYTES)
      if (got.length - bodyAt >= Math.min(wanted, MAX_BODY_BYTES)) succeed({ ...head, body: bodyOf(got, bodyAt) })
    }
    const onEnd = () => {
      if (head) succeed({ ...head, body: bodyOf(got, bodyAt) })
      else fail(gone())
    }
    const onError = (error: Error) => fail(gone(error))
    const onClose = () => fail(gone())
    socket.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  })
}

function bodyOf(bytes: Buffer, at: number): string {
  return bytes.toString('utf8', at, at + MAX_BODY_BYTES)
}

function parseHead(text: string): Omit<Answer, 'body'> {
  const [statusLine = '', ...lines] = text.split('\r\n')
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1]
  if (!status) throw notOurs('no HTTP')
  const headers = lines.map(line => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return { status: Number(status), headers: new Map(headers) }
}

function refusal({ status, headers, body }: Answer): AppError {
  if (headers.get('content-type')?.startsWith('application/problem+json')) {
    const problem = parseJson(body)
    if (isProblem(problem)) return fromProblem(problem)
  }
  return new AppError('unavailable', { ...because('manager_opened_no_tunnel', { status }), status })
}

function oneLine(name: string, value: string): string {
  if (/[\r\n\0]/.test(value)) throw new AppError('bad_request', because('header_line_break', { name }))
  return value
}

function notOurs(text: string): AppError {
  return new AppError('unavailable', because('not_a_manager_there', { text }))
}

function gone(cause?: Error): AppError {
  return new AppError('unavailable', because('manager_away'), cause ? { cause } : undefined)
}
