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
