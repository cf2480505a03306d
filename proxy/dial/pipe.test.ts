import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { closePayload, encodeFrame, OPCODE, TUNNEL_CLOSE } from '#manager/contract'
import { pipeTunnel } from './pipe.ts'

/** Both ends of a connection. */
async function aPair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, allowHalfOpen: true })
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  return [near, far]
}

test('the reason of a refusal is known when the client has been reset, however long the manager keeps the wire', async () => {
  const [wire, manager] = await aPair()
  const [program, client] = await aPair()
  program.on('error', () => undefined)
  const piped = pipeTunnel(client, wire)
  manager.write(encodeFrame(OPCODE.close, closePayload(TUNNEL_CLOSE.dial_timeout, 'dial_timeout')))
  expect(await piped).toEqual({ reason: 'dial_timeout', connected: false })
  expect(manager.writable).toBe(true)
  wire.destroy()
  manager.destroy()
})
