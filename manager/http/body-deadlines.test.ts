import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { expect, test } from 'vitest'
import { type BodyDeadlines, limitBodies } from './body-deadlines.ts'

/** A server that allows 100 ms for bodies; late ones are recorded. */
async function serve(onRequest: (incoming: IncomingMessage, deadlines: BodyDeadlines) => void) {
  const late: string[] = []
  const server = createServer((incoming, reply) => {
    onRequest(incoming, deadlines)
    incoming
      .resume()
      .on('end', () => reply.end('whole'))
      .on('error', () => undefined)
  })
  const deadlines = limitBodies(server, 100, (incoming, reply) => {
    late.push(incoming.url ?? '')
    reply.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return {
    late,
    port,
    [Symbol.asyncDispose]: async () => void (server.closeAllConnections(), server.close(), await once(server, 'close')),
  }
}

/** Sends the first half of a body at once, the second one after this time. */
async function sendSlowly(port: number, path: string, pauseMs: number): Promise<string> {
  const sending = request({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    agent: false,
    headers: { 'content-length': 2 },
  })
  sending.write('a')
  const timer = setTimeout(() => sending.end('b'), pauseMs)
  try {
    const [reply] = (await once(sending, 'response')) as [IncomingMessage]
    return (await reply.toArray()).join('')
  } catch {
    return 'cut'
  } finally {
    clearTimeout(timer)
    sending.destroy()
  }
}

test('a body that does not arrive in time ends its request; after a whole body there is no deadline', async () => {
  await using server = await serve(() => undefined)
  expect(await sendSlowly(server.port, '/slow', 5_000)).toBe('cut')
  expect(await sendSlowly(server.port, '/quick', 1)).toBe('whole')
  expect(server.late).toEqual(['/slow'])
})

test('a route that reads a stream suspends the deadline, and restores it when it stops reading', async () => {
  await using server = await serve((incoming, deadlines) => {
    deadlines.lift(incoming)
    if (incoming.url === '/restored') deadlines.restore(incoming)
  })
  expect(await sendSlowly(server.port, '/lifted', 400)).toBe('whole')
  expect(await sendSlowly(server.port, '/restored', 5_000)).toBe('cut')
  expect(server.late).toEqual(['/restored'])
})
