import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { closePayload, encodeFrame, OPCODE, toAscii, TUNNEL_CLOSE } from '#manager/contract'
import { TunnelEnd } from '#manager/tunnel-end'
import { TunnelStream } from './tunnel-stream.ts'

test('a wire that ends without a close frame breaks the stream at once', async () => {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const wire = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, allowHalfOpen: true })
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  const stream = new TunnelStream(wire)
  far.resume().end()
  const [error] = (await once(stream, 'error')) as [Error]
  expect(error).toMatchObject({ code: 'ECONNRESET' })
  wire.destroy()
  far.destroy()
})

/** A stream over loopback TCP; the other end is the test, or the agent's real end. */
async function aTunnel({ isMasked = false } = {}) {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const wire = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, allowHalfOpen: true })
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  if (wire.connecting) await once(wire, 'connect')
  // Not a loopback address: frames get a random mask.
  if (isMasked) Object.defineProperty(wire, 'remoteAddress', { value: '192.0.2.1' })
  return { stream: new TunnelStream(wire), wire, far }
}

test('an endless text breaks the stream instead of growing', async () => {
  const { stream, far } = await aTunnel()
  far.write(encodeFrame(OPCODE.text, new Uint8Array(2000).fill(65), undefined, { fin: false }))
  const [error] = (await once(stream, 'error')) as [Error]
  expect(error).toMatchObject({ code: 'ECONNRESET' })
  far.destroy()
})

test('a refusal of the agent is a coded error, and the end of a service the end of the stream', async () => {
  const refused = await aTunnel()
  refused.far.write(encodeFrame(OPCODE.close, closePayload(TUNNEL_CLOSE.refused, 'refused')))
  const [error] = (await once(refused.stream, 'error')) as [Error]
  expect(error).toMatchObject({ code: 'app_failed' })
  refused.far.destroy()
  const ended = await aTunnel()
  ended.far.write(encodeFrame(OPCODE.binary, toAscii('last words')))
  ended.far.write(encodeFrame(OPCODE.close, closePayload(TUNNEL_CLOSE.service_ended, 'service_ended')))
  expect(await text(ended.stream)).toBe('last words')
  ended.far.destroy()
})

test.each([false, true])(
  'bytes arrive whole in both directions while both read slowly (masked: %s)',
  async isMasked => {
    const { stream, far } = await aTunnel({ isMasked })
    const [service, peer] = duplexPair({ highWaterMark: 4096 })
    new TunnelEnd({ wire: far, local: peer, role: 'server' })
    const up = randomBytes(3_000_001)
    const sent = Buffer.from(up)
    const down = randomBytes(2_500_003)
    stream.end(up)
    service.end(down)
    const slowly = async (from: Duplex) => {
      const parts: Buffer[] = []
      for await (const part of from) {
        parts.push(part as Buffer)
        if (parts.length % 16 === 0) await new Promise(resolve => setTimeout(resolve, 1))
      }
      return Buffer.concat(parts)
    }
    const [back, there] = await Promise.all([slowly(stream), slowly(service)])
    expect(there.equals(sent)).toBe(true)
    expect(up.equals(sent), 'the bytes of the caller are left alone').toBe(true)
    expect(back.equals(down)).toBe(true)
  },
)

test('an abandoned stream tells the other end at once', async () => {
  const { stream, far } = await aTunnel()
  stream.destroy()
  const [first] = (await once(far, 'data')) as [Buffer]
  // A masked close frame with code 1000.
  expect([...first.subarray(0, 2), ...first.subarray(6, 8)]).toEqual([0x88, 0x80 + first.length - 6, 0x03, 0xe8])
  far.destroy()
})
