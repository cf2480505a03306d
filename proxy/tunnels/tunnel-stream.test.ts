import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
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
