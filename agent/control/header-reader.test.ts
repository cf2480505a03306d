import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { MAX_LINE_BYTES, parseHeader, readLine } from './header-reader.ts'

async function pair(): Promise<[Socket, Socket] & Disposable> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  return Object.assign([near, far] as [Socket, Socket], {
    [Symbol.dispose]() {
      near.destroy()
      far.destroy()
    },
  })
}

const lineOf = (socket: Socket) => new Promise<string | undefined>(resolve => readLine(socket, resolve))

test('bytes after the line in the same packet stay in the socket, also for the next line', async () => {
  using sockets = await pair()
  const [near, far] = sockets
  far.write('first\nsecond\nrest')
  expect(await lineOf(near)).toBe('first')
  expect(await lineOf(near)).toBe('second')
  const [rest] = (await once(near.resume(), 'data')) as [Buffer]
  expect(rest.toString()).toBe('rest')
})

test('a line may arrive byte by byte', async () => {
  using sockets = await pair()
  const [near, far] = sockets
  const line = lineOf(near)
  for (const byte of 'ab\n') {
    far.write(byte)
    await new Promise(setImmediate)
  }
  expect(await line).toBe('ab')
})

test('a connection that ends before the line, or a line without end, is refused', async () => {
  using ended = await pair()
  ended[1].end('half')
  expect(await lineOf(ended[0])).toBeUndefined()
  using endless = await pair()
  endless[1].write(Buffer.alloc(MAX_LINE_BYTES + 1, 'x'))
  expect(await lineOf(endless[0])).toBeUndefined()
})

test('a header that does not match the contract is refused', () => {
  expect(parseHeader('{"kind":"app","host":"10.0.0.1"}')).toBeUndefined()
  expect(parseHeader('not json')).toBeUndefined()
})
