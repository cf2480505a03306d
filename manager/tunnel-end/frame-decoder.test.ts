import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as ws from 'ws'
import { defined } from '#base/defined'
import { closePayload, encodeFrame, headerLength, OPCODE, type Opcode, toAscii, writeHeader } from '#manager/contract'
import { FrameDecoder, FrameError } from './frame-decoder.ts'

/** The two halves of the `ws` library, which it exports without types. */
interface WsReceiver extends NodeJS.EventEmitter {
  write(chunk: Uint8Array): void
}
const { Receiver, Sender } = ws as unknown as {
  Receiver: new (options: { isServer: boolean; maxPayload?: number }) => WsReceiver
  Sender: { frame(data: Buffer, options: object): Buffer[] }
}

type Event = ['binary' | 'text' | 'ping', string] | ['pong'] | ['close', number]

/** Decodes bytes in chunks of any size; fragments of a message are joined, so that only the content counts. */
function decode(role: 'client' | 'server', bytes: Uint8Array, cuts: readonly number[] = [], maxFrameBytes?: number) {
  const events: Event[] = []
  let message = ''
  const decoder = new FrameDecoder({
    role,
    ...defined({ maxFrameBytes }),
    sink: {
      data(kind, chunk, last) {
        message += hex(chunk)
        if (!last) return
        events.push([kind, message])
        message = ''
      },
      ping: payload => events.push(['ping', hex(payload)]),
      pong: () => events.push(['pong']),
      close: code => events.push(['close', code]),
    },
  })
  const points = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  let from = 0
  for (const to of [...points, bytes.length]) {
    // A copy: unmasking works in place.
    decoder.push(bytes.slice(from, to))
    from = to
  }
  return { events, rest: message }
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))
const failure = (act: () => void) => {
  try {
    act()
  } catch (error) {
    return error instanceof FrameError ? error.closeCode : error
  }
  return undefined
}

test.each<[string, Opcode, Uint8Array, Uint8Array | undefined, string]>([
  ['an unmasked text "Hello" (RFC 6455, 5.7)', OPCODE.text, toAscii('Hello'), undefined, '81 05 48656c6c6f'],
  [
    'a masked text "Hello" (RFC 6455, 5.7)',
    OPCODE.text,
    toAscii('Hello'),
    bytesOf('37fa213d'),
    '81 85 37fa213d 7f9f4d5158',
  ],
  ['the half-close', OPCODE.text, toAscii('eof'), undefined, '81 03 656f66'],
  ['a zero mask leaves the payload alone', OPCODE.binary, bytesOf('0102'), bytesOf('00000000'), '82 82 00000000 0102'],
  ['a close with code and reason', OPCODE.close, closePayload(4006, 'reset'), undefined, '88 07 0fa6 7265736574'],
  ['an empty ping', OPCODE.ping, bytesOf(''), undefined, '89 00'],
])('the bytes of %s', (_name, opcode, payload, mask, expected) => {
  expect(hex(encodeFrame(opcode, payload, mask))).toBe(expected.replaceAll(' ', ''))
})

test.each([
  [125, '82 7d'],
  [126, '82 7e 007e'],
  [65_535, '82 7e ffff'],
  [65_536, '82 7f 0000000000010000'],
  [16 * 1024 * 1024, '82 7f 0000000001000000'],
  [2 ** 40, '82 7f 0000010000000000'],
])('a payload of %i bytes has the shortest length field', (length, expected) => {
  const header = new Uint8Array(headerLength({ length }))
  writeHeader(header, { opcode: OPCODE.binary, length })
  expect(hex(header)).toBe(expected.replaceAll(' ', ''))
})

test('payload is passed on before its frame is complete, as views of the bytes received', () => {
  const chunks: Uint8Array[] = []
  const nothing = () => undefined
  const sink = {
    data: (_: string, chunk: Uint8Array) => void chunks.push(chunk),
    ping: nothing,
    pong: nothing,
    close: nothing,
  }
  const decoder = new FrameDecoder({ role: 'client', sink })
  const first = bytesOf('82 7f 0000000000100000 aabbcc')
  decoder.push(first)
  expect(chunks.map(hex)).toEqual(['aabbcc'])
  expect(chunks[0]?.buffer).toBe(first.buffer)
})

test.each<[string, 'client' | 'server', string, number]>([
  ['a reserved bit', 'client', 'c2 00', 1002],
  ['an unknown opcode', 'client', '83 00', 1002],
  ['an unmasked frame at the server', 'server', '82 01 00', 1002],
  ['a masked frame at the client', 'client', '82 81 00000000 00', 1002],
  ['a fragmented ping', 'client', '09 00', 1002],
  ['a ping of 126 bytes', 'client', '89 7e 007e', 1002],
  ['a continuation of nothing', 'client', '80 00', 1002],
  ['a message inside a message', 'client', '02 00 82 00', 1002],
  ['a close with half a code', 'client', '88 01 03', 1002],
  ['a close code that must not be sent', 'client', '88 02 03ee', 1002],
  ['a frame above 16 MiB', 'client', '82 7f 0000000001000001', 1009],
  ['a length of 2^63', 'client', '82 7f 8000000000000000', 1009],
])('%s fails the connection', (_name, role, bytes, code) => {
  expect(failure(() => decode(role, bytesOf(bytes)))).toBe(code)
})

const maskKey = fc.oneof(fc.constant(new Uint8Array(4)), fc.uint8Array({ minLength: 4, maxLength: 4 }))
const part = fc.oneof(
  fc.record({
    kind: fc.constant('binary' as const),
    parts: fc.array(fc.uint8Array({ maxLength: 70_000 }), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant('text' as const),
    parts: fc.constantFrom([toAscii('eof')], [toAscii('o'), toAscii('k')]),
  }),
)
const messages = fc.array(
  fc.record({ message: part, ping: fc.option(fc.uint8Array({ maxLength: 125 })), mask: maskKey }),
  { maxLength: 5 },
)
const cuts = fc.array(fc.nat({ max: 400_000 }), { maxLength: 30 })

/** Fragmented messages with pings between the fragments, and a close at the end. */
function encodeAll(list: typeof messages extends fc.Arbitrary<infer T> ? T : never, masked: boolean) {
  const frames: Uint8Array[] = []
  const expected: Event[] = []
  for (const { message, ping, mask } of list) {
    const key = masked ? mask : undefined
    message.parts.forEach((payload, i) => {
      const opcode = i > 0 ? OPCODE.continuation : OPCODE[message.kind]
      frames.push(encodeFrame(opcode, payload, key, { fin: i === message.parts.length - 1 }))
      if (i > 0 || !ping) return
      frames.push(encodeFrame(OPCODE.ping, ping, key))
      expected.push(['ping', hex(ping)])
    })
    const said: Event = [message.kind, message.parts.map(hex).join('')]
    if (message.parts.length > 1 || !ping) expected.push(said)
    else expected.splice(-1, 0, said)
  }
  frames.push(encodeFrame(OPCODE.close, closePayload(1000, 'done'), masked ? new Uint8Array([1, 2, 3, 4]) : undefined))
  expected.push(['close', 1000])
  return { bytes: Buffer.concat(frames), expected }
}

test('however the stream is cut, the decoder reads what the encoder wrote', () => {
  fc.assert(
    fc.property(messages, cuts, fc.constantFrom('client' as const, 'server' as const), (list, at, role) => {
      const { bytes, expected } = encodeAll(list, role === 'server')
      expect(decode(role, bytes, at).events).toEqual(expected)
    }),
    { numRuns: 150 },
  )
})

test('the ws library reads what the encoder wrote, in both roles', async () => {
  await fc.assert(
    fc.asyncProperty(messages, cuts, fc.boolean(), async (list, at, isServer) => {
      const { bytes, expected } = encodeAll(list, isServer)
      const receiver = new Receiver({ isServer })
      const heard: Event[] = []
      receiver.on('message', (data: Buffer, isBinary: boolean) => heard.push([isBinary ? 'binary' : 'text', hex(data)]))
      receiver.on('ping', (data: Buffer) => heard.push(['ping', hex(data)]))
      const closed = new Promise<void>((resolve, reject) => {
        receiver.on('error', reject)
        receiver.on('conclude', (code: number) => {
          heard.push(['close', code])
          resolve()
        })
      })
      const points = [...new Set(at.map(cut => cut % bytes.length))].sort((a, b) => a - b)
      let from = 0
      for (const to of [...points, bytes.length]) {
        if (to > from) receiver.write(bytes.subarray(from, to))
        from = to
      }
      await closed
      expect(heard).toEqual(expected)
    }),
    { numRuns: 60 },
  )
})

test('the decoder reads what the ws library wrote, in both roles', () => {
  const payloads = fc.array(fc.uint8Array({ maxLength: 70_000 }), { maxLength: 5 })
  fc.assert(
    fc.property(payloads, cuts, fc.boolean(), (list, at, mask) => {
      const said = list.flatMap(payload =>
        Sender.frame(Buffer.from(payload), { fin: true, opcode: 2, mask, readOnly: true, rsv1: false }),
      )
      const events = list.map(payload => ['binary', hex(payload)])
      expect(decode(mask ? 'server' : 'client', Buffer.concat(said), at).events).toEqual(events)
    }),
    { numRuns: 100 },
  )
})

test('garbage makes the decoder fail only with a code of the RFC', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), cuts, (bytes, at) => {
      expect([undefined, 1002, 1009]).toContain(failure(() => decode('server', bytes, at)))
    }),
    { numRuns: 500 },
  )
})
