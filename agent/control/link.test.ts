import { once } from 'node:events'
import { type AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
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

/** Types of the messages of a manager, until it or the agent ends the connection. */
async function typesFrom(port: number, pulse: { everyMs: number; silentMs: number }): Promise<string[]> {
  const where = { url: `http://127.0.0.1:${port}`, fingerprint: undefined, nonce: 'nonce' }
  using link = await dialManager(where, new AbortController().signal, pulse)
  const types: string[] = []
  for await (const { type } of link.messages()) types.push(type)
  return types
}

/** A manager that answers each ping after `afterMs`, and says something and hangs up at the sixth one. */
async function slowManager(afterMs: number) {
  const server = new WebSocketServer({
    port: 0,
    host: '127.0.0.1',
    autoPong: false,
    handleProtocols: () => CONTROL_PROTOCOL,
  })
  server.on('connection', (socket: WebSocket) => {
    let pings = 0
    socket.on('ping', () => {
      pings++
      if (pings === 6) {
        socket.send(CANCEL)
        socket.close()
      } else setTimeout(() => socket.pong(), afterMs)
    })
  })
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]() {
      server.close()
    },
  }
}

test('a manager that answers late, as one with too much to do, keeps its agents', async () => {
  using manager = await slowManager(200)
  expect(await typesFrom(manager.port, { everyMs: 50, silentMs: 10_000 })).toEqual(['cancel'])
})

test('a manager that does not answer is given up', async () => {
  using manager = await slowManager(2 ** 30)
  expect(await typesFrom(manager.port, { everyMs: 50, silentMs: 150 })).toEqual([])
})

test('an answer that came while this process stood still counts', async () => {
  const silentMs = 500
  const manager = new Worker(
    `const { WebSocketServer } = require('ws')
     const { parentPort } = require('node:worker_threads')
     const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => '${CONTROL_PROTOCOL}' })
     server.on('listening', () => parentPort.postMessage(server.address().port))
     server.on('connection', socket => {
       let pings = 0
       socket.on('ping', () => {
         if (++pings < 3) return
         socket.send('${CANCEL}')
         socket.close()
       })
     })`,
    { eval: true },
  )
  const [port] = (await once(manager, 'message')) as [number]
  const ping = vi.spyOn(WebSocket.prototype, 'ping').mockImplementationOnce(function (this: WebSocket) {
    ping.mockRestore()
    this.ping()
    // Timers come next, before anything is read.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * silentMs))
  })
  try {
    expect(await typesFrom(port, { everyMs: 50, silentMs })).toEqual(['cancel'])
  } finally {
    await manager.terminate()
  }
})
