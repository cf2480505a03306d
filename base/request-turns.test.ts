import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRequestTurns } from './request-turns.ts'

const MOST = 3
const MOST_BYTES = 30 * 1024

/** Requests that are being handled, in the order in which they began. */
let begun: { url: string; answer: () => void }[]
let over: string[]
let stack: AsyncDisposableStack
let port: number
beforeEach(async () => {
  ;[begun, over, stack] = [[], [], new AsyncDisposableStack()]
  const turns = createRequestTurns<IncomingMessage>({ most: MOST, mostBytes: MOST_BYTES })
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    turns.enter(request, response, () => {
      const { url = '' } = request
      const ended = over
      turns.onOver(request, () => ended.push(url))
      let body = ''
      request.on('data', chunk => (body += String(chunk)))
      const answer = () => response.end(`${url}${body};`)
      begun.push({ url, answer })
      if (url.startsWith('/refused')) answer()
    })
  const server = stack.adopt(createServer(handle).listen(0, '127.0.0.1'), server => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => stack.disposeAsync())

async function open() {
  const socket = stack.adopt(connect(port, '127.0.0.1'), each => void each.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const seen = { text: '' }
  socket.on('data', chunk => (seen.text += String(chunk)))
  const send = (url: string, body = '') =>
    socket.write(`POST ${url} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  return { socket, seen, send }
}

const urls = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `/${from + at}`)

test('requests of a connection run a few at a time in their order, beside those of others', async () => {
  const [many, other] = [await open(), await open()]
  for (const url of urls(0, 500)) many.send(url, 'x'.repeat(100))
  await expect.poll(() => begun.length).toBe(MOST)
  other.send('/other')
  await expect.poll(() => begun.length).toBe(MOST + 1)
  for (let at = 0; at < 501; at++) {
    await expect.poll(() => begun.length, { interval: 1 }).toBeGreaterThan(at)
    expect(begun.length - at).toBeLessThanOrEqual(MOST + 1)
    begun[at]?.answer()
  }
  await expect.poll(() => many.seen.text).toContain('/499')
  const answers = many.seen.text.match(/\/\d+(?=x{100};)/g)
  expect(answers).toEqual(urls(0, 500))
  await expect.poll(() => over.length).toBe(501)
})

test('connections with many requests that are refused at once take turns', async () => {
  const [one, other] = [await open(), await open()]
  const send = ({ socket }: typeof one, name: string) =>
    socket.write(`GET /refused/${name} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(300))
  send(one, 'one')
  send(other, 'other')
  await expect.poll(() => begun.length).toBe(600)
  const order = begun.map(({ url }) => url.slice('/refused/'.length))
  const together = order.slice(order.indexOf('other') + MOST, order.lastIndexOf('one'))
  expect(together.length).toBeGreaterThan(100)
  expect(together.join(' ')).not.toMatch(/one one one/)
})

test('requests of a connection that ends are over, also those whose answers would have come later', async () => {
  const { socket, send } = await open()
  for (const url of urls(0, MOST)) send(url)
  await expect.poll(() => begun.length).toBe(MOST)
  socket.destroy()
  await expect.poll(() => over).toEqual(urls(0, MOST))
  for (const { answer } of begun) answer()
  expect([begun.length, over.length]).toEqual([MOST, MOST])
})

test('heads that wait are counted in bytes, and the rest stays unread', async () => {
  const { socket } = await open()
  const field = `Field: ${'x'.repeat(12 * 1024)}\r\n`
  for (let at = 0; at < 500; at++) socket.write(`GET /${at} HTTP/1.1\r\nHost: a\r\n${field}\r\n`)
  // A third would be too long.
  await expect.poll(() => begun.length).toBe(2)
  await expect.poll(() => socket.writableLength).toBeGreaterThan(1024 * 1024)
  begun[0]?.answer()
  begun[1]?.answer()
  await expect.poll(() => begun.length).toBe(4)
  expect(socket.writableLength).toBeGreaterThan(1024 * 1024)
})

test('requests that come by the thousand in one piece end their connection, and none of those that wait begins', async () => {
  const { socket } = await open()
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(5_000))
  await new Promise(resolve => socket.once('close', resolve))
  expect(begun.length).toBe(MOST)
  await expect.poll(() => over.length).toBe(MOST)
})
