import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { readOnAfterReset } from './read-on.ts'

const ANSWER = 'HTTP/1.1 413 Payload Too Large\r\nContent-Length: 7\r\nConnection: close\r\n\r\ntoo big'

test('an answer that came before a reset is read, although a write fails', async () => {
  const isOver = Promise.withResolvers<undefined>()
  let writeAgain = () => undefined as unknown
  // The service reads the head, answers and closes: its kernel resets the connection, because the rest is unread.
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.pause().end(ANSWER, () => socket.destroy()))
    // In this turn of the event loop, the client has not read anything yet.
    socket.once('close', () => {
      writeAgain()
      isOver.resolve(undefined)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  await once(client, 'connect')
  readOnAfterReset(client)
  let text = ''
  client.on('data', chunk => (text += String(chunk)))
  const errors: Error[] = []
  client.on('error', error => errors.push(error))
  const closed = new Promise(resolve => client.once('close', resolve))
  const block = Buffer.alloc(1024 * 1024)
  writeAgain = () => client.write(block) && client.write(block)
  client.write(Buffer.concat([Buffer.from('POST / HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n'), block]))
  await isOver.promise
  expect(text).toBe('')
  await closed
  expect(text).toBe(ANSWER)
  // The reset is also reported, after the bytes before it.
  expect(errors).toHaveLength(1)
})
