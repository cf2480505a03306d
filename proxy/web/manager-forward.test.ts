import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../log.ts'
import { createForward } from './manager-forward.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void
async function listen(handler: Handler): Promise<number> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

test('a pipelined request that cannot be forwarded ends its connection, not the process', async () => {
  const managerPort = await listen((request, response) => response.end(`answer to ${request.url ?? ''}`))
  const log = { ...silentLog, error: vi.fn() }
  const forward = createForward(`http://127.0.0.1:${managerPort}`, 'manager', { log })
  onTestFinished(forward.close)
  const port = await listen((request, response) => {
    // A fault of ours that shows when the request before it has been answered.
    if (request.url === '/api/fault') Object.defineProperty(request, 'headers', { get: () => expect.fail('a fault') })
    forward.request(request, response)
  })
  const uncaught = vi.fn()
  process.once('uncaughtException', uncaught)
  onTestFinished(() => void process.off('uncaughtException', uncaught))

  const pipelined = connect(port, '127.0.0.1').on('error', () => undefined)
  pipelined.write(get('/api/one') + get('/api/fault') + get('/api/three'))
  const said = await text(pipelined)
  expect(said).toContain('answer to /api/one')
  expect(said).not.toContain('/api/three')
  expect(uncaught).not.toHaveBeenCalled()
  expect(log.error).toHaveBeenCalledOnce()

  expect(await (await fetch(`http://127.0.0.1:${port}/api/next`)).text()).toBe('answer to /api/next')
})
