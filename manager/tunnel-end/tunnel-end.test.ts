import { once } from 'node:events'
import { Duplex, PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  closePayload,
  encodeFrame,
  OPCODE,
  PING_INTERVAL_MS,
  toAscii,
  TUNNEL_CLOSE,
  type TunnelCloseReason,
  ZERO_MASK,
} from '#manager/contract'
import { TICK_MS, TunnelBeats } from './tunnel-beats.ts'
import { TunnelEnd } from './tunnel-end.ts'
import { type TunnelEndOptions, type TunnelOutcome } from './tunnel-end-options.ts'

/** A socket whose other end is the test: `said` contains the bytes written to it, `hear` makes it receive bytes. */
function aSocket() {
  const said = new PassThrough()
  const heard = new PassThrough()
  const socket = Duplex.from({ writable: said, readable: heard })
  return Object.assign(socket, { said: () => (said.read() as Buffer | null) ?? Buffer.alloc(0), hear: heard })
}

/** A socket that accepts bytes only after `take`. */
function aSlowSocket() {
  let done: () => void = () => undefined
  const socket = new Duplex({
    read: () => undefined,
    write(_chunk, _encoding, taken) {
      done = taken
    },
  })
  return Object.assign(socket, { take: () => done() })
}

function anEnd(options: Partial<TunnelEndOptions> = {}) {
  const [wire, local] = [aSocket(), aSocket()]
  const outcomes: TunnelOutcome[] = []
  const texts: string[] = []
  const end = new TunnelEnd({
    wire,
    local,
    role: 'server',
    onEnd: outcome => outcomes.push(outcome),
    onText: text => texts.push(text),
    ...options,
  })
  return { wire, local, end, outcomes, texts }
}

const OK = encodeFrame(OPCODE.text, toAscii('ok'))
const OK_NEXT = encodeFrame(OPCODE.text, toAscii('ok next'))
const EOF = encodeFrame(OPCODE.text, toAscii('eof'))
const PING = encodeFrame(OPCODE.ping, new Uint8Array(0))
const close = (code: number, reason: string) => encodeFrame(OPCODE.close, closePayload(code, reason))
const fromClient = (opcode: 1 | 2 | 8 | 9, payload: Uint8Array) => encodeFrame(opcode, payload, ZERO_MASK)

test('an end of the local connection that came before the wire was dialled is passed on', async () => {
  const local = aSocket()
  local.resume()
  local.hear.end()
  await once(local, 'end')
  const { wire } = anEnd({ local })
  await turn()
  expect(wire.said()).toEqual(Buffer.concat([OK, EOF]))
})

test('the agent sends ok first, then frames the bytes of the service, and eof when it ends', async () => {
  const { wire, local } = anEnd()
  expect(wire.said()).toEqual(Buffer.from(OK))
  local.hear.end('hi')
  await expect.poll(() => wire.said()).toEqual(Buffer.concat([encodeFrame(OPCODE.binary, toAscii('hi')), EOF]))
})

test('eof from the client ends the direction to the service, after the bytes before it', async () => {
  const { wire, local } = anEnd()
  wire.hear.write(Buffer.concat([fromClient(2, toAscii('last')), fromClient(1, toAscii('eof'))]))
  await expect.poll(() => local.writableEnded).toBe(true)
  expect(local.said().toString()).toBe('last')
})

test('a ping is answered with its payload, an unsolicited pong is ignored', async () => {
  const { wire } = anEnd()
  wire.said()
  wire.hear.write(fromClient(9, toAscii('abc')))
  await expect.poll(() => wire.said()).toEqual(Buffer.from(encodeFrame(OPCODE.pong, toAscii('abc'))))
})

test('an error of the service travels as a close with the reason reset', async () => {
  const { wire, local } = anEnd()
  wire.said()
  local.destroy(new Error('ECONNRESET'))
  await expect.poll(() => wire.said()).toEqual(Buffer.from(close(TUNNEL_CLOSE.reset, 'reset')))
})

test('a close that reports a failure destroys the local side and is answered', async () => {
  const { wire, local } = anEnd()
  wire.said()
  wire.hear.end(fromClient(8, closePayload(TUNNEL_CLOSE.reset)))
  await expect.poll(() => local.destroyed).toBe(true)
  expect(wire.said()).toEqual(Buffer.from(close(TUNNEL_CLOSE.reset, 'reset')))
})

test('a wire that ends without a close frame is a lost path, not an end', async () => {
  const { wire, local, outcomes } = anEnd()
  wire.hear.end()
  await expect.poll(() => local.destroyed).toBe(true)
  await expect.poll(() => outcomes).toEqual([{ reason: undefined, connected: true }])
})

test('a foreign client gets no text frames: an unsolicited pong first, and 1001 when the service ends', async () => {
  const { wire, local } = anEnd({ mode: 'foreign' })
  expect(wire.said()).toEqual(Buffer.from(encodeFrame(OPCODE.pong, new Uint8Array(0))))
  local.hear.end()
  await expect.poll(() => wire.said()).toEqual(Buffer.from(close(TUNNEL_CLOSE.service_ended, 'service_ended')))
})

test('texts of a terminal reach its owner whole', async () => {
  const { wire, texts } = anEnd({ mode: 'terminal' })
  const frame = fromClient(1, toAscii('{"resize":{}}'))
  wire.hear.write(frame.slice(0, 9))
  wire.hear.write(frame.slice(9))
  await expect.poll(() => texts).toEqual(['{"resize":{}}'])
})

test('a beat sends a ping; after an unanswered close, the second beat drops the connection', () => {
  const { wire, end } = anEnd()
  wire.said()
  end.beat()
  expect(wire.said()).toEqual(Buffer.from(PING))
  end.close('session_ended')
  end.beat()
  expect(wire.destroyed).toBe(false)
  end.beat()
  expect(wire.destroyed).toBe(true)
})

test('a peer that still pings after our close frame is reading earlier bytes: its wire is kept', () => {
  const { wire, end } = anEnd()
  end.close('done')
  for (let beats = 0; beats < 10; beats++) {
    wire.emit('data', fromClient(9, new Uint8Array(0)))
    end.beat()
  }
  expect(wire.destroyed).toBe(false)
})

test('a wire with unsent bytes is kept after the close frame', () => {
  const { wire, end } = anEnd()
  end.close('done')
  Object.defineProperty(wire, 'writableLength', { value: 1 })
  for (let beats = 0; beats < 10; beats++) end.beat()
  expect(wire.destroyed).toBe(false)
})

test('the owner of a terminal gives the reason of its end, although its stream is closed by then', async () => {
  const closes: ((reason: TunnelCloseReason) => void)[] = []
  const { wire, local } = anEnd({ mode: 'terminal', onTerminalEnd: close => closes.push(close) })
  wire.said()
  local.hear.end()
  await expect.poll(() => closes.length).toBe(1)
  local.destroy()
  await expect.poll(() => local.closed).toBe(true)
  expect(wire.said()).toEqual(Buffer.alloc(0))
  closes[0]?.('session_ended')
  expect(wire.said()).toEqual(Buffer.from(close(TUNNEL_CLOSE.session_ended, 'session_ended')))
})

const ended = fromClient(1, toAscii('eof'))

/** A lasting end of the agent whose first connection has ended both ways. */
async function aRestingEnd() {
  let asked = 0
  const parts = anEnd({ lasting: { onNext: () => asked++ } })
  parts.local.said()
  parts.local.hear.end()
  parts.wire.hear.write(ended)
  await expect.poll(() => parts.local.writableFinished).toBe(true)
  expect(parts.wire.said()).toEqual(Buffer.concat([OK_NEXT, EOF]))
  return { ...parts, asked: () => asked }
}

test('a lasting end stays open after both ends, and serves the next connection on request', async () => {
  const { wire, end, asked } = await aRestingEnd()
  wire.hear.write(fromClient(1, toAscii('next')))
  await expect.poll(asked).toBe(1)
  const second = aSocket()
  end.attach(second)
  expect(wire.said()).toEqual(Buffer.from(OK_NEXT))
  second.hear.write('hello')
  wire.hear.write(fromClient(2, toAscii('world')))
  await expect.poll(() => second.said().toString()).toBe('world')
  expect(wire.said()).toEqual(Buffer.from(encodeFrame(OPCODE.binary, toAscii('hello'))))
  expect(end.outcome).toEqual({ reason: undefined, connected: true })
})

test('bytes that the client sends before its next service is connected reach it, with the end', async () => {
  const { wire, end, asked } = await aRestingEnd()
  wire.hear.write(fromClient(1, toAscii('next')))
  wire.hear.write(fromClient(2, toAscii('early ')))
  wire.hear.write(Buffer.concat([fromClient(2, toAscii('bird')), ended]))
  await expect.poll(asked).toBe(1)
  await turn()
  const second = aSocket()
  end.attach(second)
  await expect.poll(() => second.said().toString()).toBe('early bird')
  await expect.poll(() => second.writableEnded).toBe(true)
})

test('a client that sends much before its next service is connected has to wait', async () => {
  const { wire, end } = await aRestingEnd()
  const much = Buffer.alloc(48 * 1024, 'x')
  wire.hear.write(fromClient(1, toAscii('next')))
  wire.hear.write(fromClient(2, much))
  wire.hear.write(fromClient(2, much))
  await expect.poll(() => wire.isPaused()).toBe(true)
  const second = aSocket()
  end.attach(second)
  let got = 0
  await expect.poll(() => (got += second.said().length)).toBe(2 * much.length)
})

test.each([
  ['bytes while the wire rests', [fromClient(2, toAscii('x'))]],
  ['an end while the wire rests', [fromClient(1, toAscii('eof'))]],
  [
    'bytes after the end of a connection that begins',
    [fromClient(1, toAscii('next')), ended, fromClient(2, toAscii('x'))],
  ],
  ['next twice', [fromClient(1, toAscii('next')), fromClient(1, toAscii('next'))]],
])('protocol error of the client: %s', async (_what, frames) => {
  const { wire } = await aRestingEnd()
  for (const frame of frames) wire.hear.write(frame)
  await expect.poll(() => wire.said()).toEqual(Buffer.from(close(TUNNEL_CLOSE.protocol_error, 'protocol_error')))
})

test('next during a connection, or to an end that does not last, is a protocol error of the client', async () => {
  for (const options of [{ lasting: { onNext: () => undefined } }, {}]) {
    const { wire } = anEnd(options)
    wire.said()
    wire.hear.write(fromClient(1, toAscii('next')))
    await expect.poll(() => wire.said()).toEqual(Buffer.from(close(TUNNEL_CLOSE.protocol_error, 'protocol_error')))
  }
})

test('the next connection waits until the local socket of the previous one has taken all bytes', async () => {
  let asked = 0
  const local = aSlowSocket()
  const { wire } = anEnd({ local, lasting: { onNext: () => asked++ } })
  wire.said()
  local.push(null)
  await expect.poll(() => wire.said()).toEqual(Buffer.from(EOF))
  wire.hear.write(Buffer.concat([fromClient(2, toAscii('slow')), ended, fromClient(1, toAscii('next'))]))
  await expect.poll(() => local.writableEnded).toBe(true)
  await turn()
  expect(asked).toBe(0)
  local.take()
  await expect.poll(() => asked).toBe(1)
})

test('a client that asks first keeps its connection untouched if the wire is lost before the answer', async () => {
  const { wire, local, end } = anEnd({ role: 'client', lasting: {} })
  wire.hear.write(Buffer.concat([OK_NEXT, EOF]))
  local.hear.end()
  await expect.poll(() => local.writableFinished && local.readableEnded).toBe(true)
  const answers: boolean[] = []
  const next = aSocket()
  end.nextIfAnswered(next, isConnected => answers.push(isConnected))
  wire.destroy()
  await expect.poll(() => answers).toEqual([false])
  expect(next.destroyed).toBe(false)
  expect(next.listenerCount('close')).toBe(aSocket().listenerCount('close'))
  expect(end.next(next)).toBe(false)
})

test('a client whose agent says only ok closes the wire after the first connection', async () => {
  let rests = 0
  const { wire, local } = anEnd({ role: 'client', lasting: { onRest: () => rests++ } })
  wire.hear.write(Buffer.concat([OK, EOF]))
  local.hear.end()
  const { done } = TUNNEL_CLOSE
  const said = [EOF, close(done, 'done')]
  await expect.poll(() => wire.said()).toEqual(Buffer.concat(said))
  expect(rests).toBe(0)
})

test('a connection that was reset leaves no wire behind', async () => {
  let rests = 0
  const { wire, local } = anEnd({ role: 'client', lasting: { onRest: () => rests++ } })
  wire.hear.write(Buffer.concat([OK_NEXT, EOF]))
  await expect.poll(() => local.writableEnded).toBe(true)
  local.destroy(new Error('ECONNRESET'))
  await expect
    .poll(() => wire.said())
    .toEqual(Buffer.from(encodeFrame(OPCODE.close, closePayload(TUNNEL_CLOSE.reset, 'reset'))))
  expect(rests).toBe(0)
})

test('every end is pinged once per interval, spread over the ticks', () => {
  const beats = new TunnelBeats()
  const ends = Array.from({ length: 40 }, () => anEnd())
  for (const { wire, end } of ends) {
    wire.said()
    beats.add(end)
  }
  expect(beats.size).toBe(40)
  let most = 0
  const total = { pings: 0 }
  for (let tick = 0; tick < PING_INTERVAL_MS / TICK_MS; tick++) {
    beats.tick()
    const pings = ends.filter(({ wire }) => wire.said().length > 0).length
    most = Math.max(most, pings)
    total.pings += pings
  }
  expect(total.pings).toBe(40)
  expect(most).toBeLessThanOrEqual(3)
})
