import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Duplex, PassThrough } from 'node:stream'
import { encodeFrame, isAppError, type Opcode, type SessionId } from '#manager/contract'
import { FrameDecoder, FrameError, TunnelEnd } from '#manager/tunnel-end'
import { dialTunnel } from '../../proxy/dial/dial.ts'
import { type Random } from './random.ts'
import { type FuzzTarget, within } from './target.ts'

const SESSION = '01900000-0000-7000-8000-000000000001' as SessionId
const OPCODES: readonly Opcode[] = [0, 1, 2, 8, 9, 10]

/** The tunnel protocol in this process: the decoder, both ends of a tunnel, and the handshake of a dial with a lying manager. */
export const tunnelTarget: FuzzTarget = {
  name: 'tunnel',
  atOnce: 16,
  weight: 16,
  async start() {
    const answers = new WeakMap<Socket, Buffer>()
    const waiting: Buffer[] = []
    const server = createServer(socket => {
      socket.on('error', () => undefined)
      answers.set(socket, waiting.shift() ?? Buffer.alloc(0))
      socket.once('data', () => socket.end(answers.get(socket) ?? ''))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const managerUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

    async function dial(random: Random) {
      waiting.push(handshakeAnswer(random))
      const signal = AbortSignal.timeout(4_000)
      try {
        const socket = await within(
          'a dial',
          dialTunnel({ managerUrl, sessionId: SESSION, app: random.text(), headers: {}, signal }),
        )
        socket.destroy()
      } catch (error) {
        if (!isAppError(error)) throw error
      }
    }

    return {
      async input(random) {
        const kind = random.next()
        if (kind < 0.02) await dial(random)
        else if (kind < 0.6) decode(random)
        else await converse(random)
      },
      check: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => new Promise(resolve => server.close(() => resolve())),
    }
  },
}

/** Frames, mostly valid ones, cut, spliced and with some bytes changed. */
function stream(random: Random, isMasked: boolean): Buffer {
  const frames = Array.from({ length: 1 + random.int(6) }, () => {
    if (random.chance(0.1)) return random.bytes(random.int(30))
    const payload = random.chance(0.3)
      ? Buffer.from(random.pick(['ok', 'eof', '{"resize":{}}', random.text()]))
      : random.bytes(random.int(300))
    const mask = isMasked === random.chance(0.97) ? random.bytes(4) : undefined
    return encodeFrame(random.pick(OPCODES), payload, mask, { fin: random.chance(0.8) })
  })
  const bytes = Buffer.concat(frames)
  for (let changes = random.chance(0.5) ? random.int(4) : 0; changes > 0 && bytes.length > 0; changes--) {
    bytes[random.int(bytes.length)] = random.int(256)
  }
  return bytes
}

function* pieces(random: Random, bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const length = 1 + random.int(random.chance(0.5) ? 3 : 200)
    yield Buffer.from(bytes.subarray(at, at + length))
    at += length
  }
}

/** @throws anything except a FrameError, or if the decoder passes on more than it received */
function decode(random: Random) {
  const role = random.pick(['client', 'server'] as const)
  const bytes = stream(random, role === 'server')
  let passed = 0
  const nothing = () => undefined
  const decoder = new FrameDecoder({
    role,
    sink: { data: (_kind, chunk) => void (passed += chunk.length), ping: nothing, pong: nothing, close: nothing },
  })
  try {
    for (const piece of pieces(random, bytes)) decoder.push(piece)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
  }
  if (passed > bytes.length) throw new Error(`${passed} bytes of ${bytes.length}`)
}

/** Runs an end of a tunnel between two random peers. @throws if it does not end with its sockets */
async function converse(random: Random) {
  const ended = Promise.withResolvers<undefined>()
  const [wire, local] = [aSocket(), aSocket()]
  const role = random.pick(['client', 'server'] as const)
  const end = new TunnelEnd({
    wire: wire.socket,
    local: local.socket,
    role,
    mode: random.pick(['tunnel', 'foreign', 'terminal']),
    newMask: () => random.bytes(4),
    onEnd: () => ended.resolve(undefined),
  })
  for (const piece of pieces(random, stream(random, role === 'server'))) {
    if (wire.socket.destroyed) break
    wire.heard.write(piece)
    if (random.chance(0.2)) local.heard.write(random.bytes(random.int(100)))
    if (random.chance(0.05)) end.beat()
    if (random.chance(0.02)) end.close('session_ended')
    if (random.chance(0.02)) local.socket.destroy(random.chance(0.5) ? new Error('reset') : undefined)
    if (random.chance(0.1)) await new Promise(resolve => setImmediate(resolve))
  }
  for (const { socket, heard } of [local, wire]) {
    if (random.chance(0.5)) heard.end()
    else socket.destroy()
    await new Promise(resolve => setImmediate(resolve))
  }
  wire.socket.destroy()
  local.socket.destroy()
  await within('the end of a tunnel', ended.promise)
}

/** A socket whose other end is the fuzzer; bytes written to it are discarded. */
function aSocket() {
  const said = new PassThrough().resume()
  const heard = new PassThrough()
  heard.on('error', () => undefined)
  said.on('error', () => undefined)
  const socket = Duplex.from({ writable: said, readable: heard })
  return { socket, heard }
}

function handshakeAnswer(random: Random): Buffer {
  const line = random.pick([
    'HTTP/1.1 101 Switching Protocols',
    'HTTP/1.1 409 Conflict',
    'HTTP/1.1 200',
    'SSH-2.0-x',
    random.text(),
  ])
  const fields = Array.from({ length: random.int(5) }, () => {
    const name = random.pick(['Content-Type', 'Content-Length', 'Sec-WebSocket-Accept', 'Upgrade', random.text(10)])
    return `${name}: ${random.pick(['application/problem+json', '-1', '5', '1e9', 'websocket', random.text()])}\r\n`
  })
  const body = random.chance(0.5) ? JSON.stringify(random.json()) : random.text(200)
  const bytes = Buffer.from(`${line}\r\n${fields.join('')}\r\n${body}`)
  return random.chance(0.2) ? bytes.subarray(0, random.int(bytes.length)) : bytes
}
