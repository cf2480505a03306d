import { once } from 'node:events'
import { type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { CONTROL_PROTOCOL } from '#agent/contract'
import { dialManager } from './link.ts'

/** Messages that arrive from a manager, and the end of the connection. */
async function received(...sent: readonly string[]): Promise<{ types: string[]; broken: boolean }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => CONTROL_PROTOCOL })
  server.on('connection', (socket: WebSocket) => {
    socket.on('error', () => undefined)
    for (const text of sent) socket.send(text)
    socket.close()
  })
  try {
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    using link = await dialManager({ url, fingerprint: undefined, nonce: 'nonce' }, new AbortController().signal)
    const types: string[] = []
    try {
      for await (const { type } of link.messages()) types.push(type)
      return { types, broken: false }
    } catch {
      return { types, broken: true }
    }
  } finally {
    server.close()
  }
}

const CANCEL = JSON.stringify({ type: 'cancel', id: 1 })

test('a message that only newer versions know is ignored', async () => {
  const newer = JSON.stringify({ type: 'weather', sky: 'blue' })
  expect(await received(CANCEL, newer, CANCEL)).toEqual({ types: ['cancel', 'cancel'], broken: false })
})

test.each(['{"type":', '[]', '{"id":1}', '{"type":7}', '{"type":"cancel","id":"one"}'])(
  'a protocol violation ends the connection: %s',
  async text => expect(await received(CANCEL, text)).toEqual({ types: ['cancel'], broken: true }),
)
