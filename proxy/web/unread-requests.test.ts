import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createHttpServer } from '../http/create-server.ts'
import { silentLog } from '../log.ts'
import { answerUnreadRequests } from './unread-requests.ts'

/** @returns the server's output for these bytes until it hangs up */
async function say(bytes: string): Promise<string> {
  const server = createHttpServer({
    onRequest: (_, response) => void delay(50).then(() => response.end('the answer')),
    log: silentLog,
  })
  answerUnreadRequests(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(bytes)
  return await text(socket)
}

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'

test('input that is not an HTTP request is answered with a problem', async () => {
  expect(await say('garbage\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[^]*"code":"bad_request"/)
})

test('a request gets its answer although garbage follows it; then the connection ends', async () => {
  const said = await say(`${REQUEST}garbage\r\n\r\n`)
  expect(said).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*the answer/)
  expect(said).not.toContain('400')
})

test('the answers of pipelined requests come before the connection ends', async () => {
  expect((await say(`${REQUEST}${REQUEST}garbage\r\n\r\n`)).match(/the answer/g)).toHaveLength(2)
})

test.each([
  ['ends in the middle of an announced body', 'Content-Length: 10\r\n\r\nhalf', true],
  ['ends in the middle of a body in chunks', 'Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n', true],
  ['breaks the form of a body', 'Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\ngarbage', false],
])('a request that %s is over at once, after the answers before it', async (_, body, ends) => {
  const over = Promise.withResolvers<boolean>()
  const arrived = Promise.withResolvers<undefined>()
  const answer = Promise.withResolvers<undefined>()
  const server = createHttpServer({
    onRequest(request, response) {
      if (request.method === 'GET') void answer.promise.then(() => response.end('the answer'))
      else {
        request.on('error', () => undefined).once('data', () => arrived.resolve(undefined))
        response.once('close', () => over.resolve(request.complete))
      }
    },
    log: silentLog,
  })
  answerUnreadRequests(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`${REQUEST}PUT / HTTP/1.1\r\nHost: localhost\r\n${body}`)
  if (ends) socket.end()
  await arrived.promise
  answer.resolve(undefined)
  expect(await text(socket)).toContain('the answer')
  expect(await over.promise).toBe(false)
})
