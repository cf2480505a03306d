import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { silentLog } from './log.ts'
import { parseEvents, watchSessions } from './sessions-watch.ts'

test('events are parsed however they are cut, with any line end, and comments are skipped', async () => {
  const text = ': hello\n\nevent: hint\r\ndata: {"a":1}\r\n\r\ndata: x\ndata: y\n\nevent: ping\n\n'
  const cut = async function* () {
    for (const character of text) yield await Promise.resolve(character)
  }
  const events = []
  for await (const event of parseEvents(cut())) events.push(event)
  expect(events).toEqual([
    { name: 'hint', data: '{"a":1}' },
    { name: 'message', data: 'x\ny' },
  ])
})

test('a silent stream is closed and reopened', async () => {
  const opened: ServerResponse[] = []
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': hello\n\n')
    opened.push(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const changes = vi.fn()
  const watch = watchSessions({
    managerUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: () => Promise.resolve({}),
    fetch,
    api: { getSession: () => Promise.reject(new Error('not asked')) },
    watched: () => [],
    onEnded: () => undefined,
    onPathChanged: changes,
    log: silentLog,
    silenceMs: 100,
  })
  await expect.poll(() => opened.length).toBeGreaterThanOrEqual(2)
  expect(changes).toHaveBeenCalled()
  watch[Symbol.dispose]()
  server.closeAllConnections()
  server.close()
})
