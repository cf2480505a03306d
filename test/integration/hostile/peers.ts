import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** No exchange with a hostile peer may take longer than this; then it counts as hung. */
const ANSWER_MS = 30_000

/** Limit of an exchange that may hang: the victim has not yet heard the end of the request. */
export const UNFINISHED_MS = 5_000

export type Respond = (socket: Socket, request: string) => void

/** A TCP server that calls `respond` as soon as the head of a request has arrived, once per connection. */
export class HostileServer implements AsyncDisposable {
  respond: Respond = socket => socket.end()
  readonly port: number
  readonly #server: ReturnType<typeof createServer>
  readonly #sockets = new Set<Socket>()

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', socket => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      socket.on('error', () => undefined)
      let head = ''
      const onData = (chunk: Buffer) => {
        head += chunk.toString('latin1')
        if (!head.includes('\r\n\r\n')) return
        socket.off('data', onData)
        socket.resume()
        this.respond(socket, head)
      }
      socket.on('data', onData)
    })
  }

  static async start(): Promise<HostileServer> {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new HostileServer(server)
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.resetAndDestroy()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }
}

/** Writes these bytes (latin1) and ends. */
export const saying =
  (bytes: string): Respond =>
  socket =>
    socket.end(bytes, 'latin1')

export interface Exchange {
  /** Everything received, as latin1. */
  readonly text: string
  /** `end`: orderly; `reset`: cut; `hung`: neither within the limit. */
  readonly end: 'end' | 'reset' | 'hung'
}

/** Sends bytes unchanged and reads until the connection ends, or until `enough`. */
export function exchange(
  port: number,
  bytes: string | Buffer,
  options: { readonly enough?: (text: string) => boolean; readonly timeoutMs?: number } = {},
): Promise<Exchange> {
  return new Promise(resolve => {
    let text = ''
    const socket = connect({ port, host: '127.0.0.1' })
    const finish = (end: Exchange['end']) => {
      clearTimeout(timer)
      resolve({ text, end })
      socket.destroy()
    }
    const timer = setTimeout(() => finish('hung'), options.timeoutMs ?? ANSWER_MS)
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
      if (options.enough?.(text)) finish('end')
    })
    socket.on('end', () => finish('end'))
    socket.on('error', () => finish('reset'))
    socket.on('close', () => finish('reset'))
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  })
}

/** Runs over a list, a few at a time. */
export async function each<T>(list: readonly T[], act: (item: T, index: number) => Promise<void>, atOnce = 8) {
  const rest = list.map((item, index) => ({ item, index }))
  const worker = async () => {
    for (let next = rest.shift(); next; next = rest.shift()) await act(next.item, next.index)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

export const BYTES = Array.from({ length: 256 }, (_, byte) => byte)
export const char = (byte: number) => String.fromCharCode(byte)

export interface SlowPeer {
  /** Resolves with the received text when the other side ends or cuts the connection. A peer that does not read notices no end. */
  readonly ended: Promise<string>
  stop(): void
}

/**
 * A peer that sends `head` at once and then the bytes of `rest` one by one, for ever, and never hangs up. @param reads false: everything
 * sent to it stays in the kernel
 */
export function slowPeer(
  port: number,
  {
    head = '',
    rest = '',
    everyMs = 100,
    reads = true,
  }: { head?: string; rest?: string; everyMs?: number; reads?: boolean },
): SlowPeer {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  let at = 0
  socket.on('error', () => undefined)
  if (reads) socket.on('data', chunk => (text += chunk.toString('latin1')))
  else socket.pause()
  socket.write(Buffer.from(head, 'latin1'))
  const timer = setInterval(() => {
    if (rest !== '' && socket.writable) socket.write(rest.charAt(at++ % rest.length))
  }, everyMs)
  const ended = new Promise<string>(resolve => {
    socket.once('end', () => resolve(text)).once('close', () => resolve(text))
  }).finally(() => clearInterval(timer))
  return {
    ended,
    stop: () => {
      clearInterval(timer)
      socket.destroy()
    },
  }
}
