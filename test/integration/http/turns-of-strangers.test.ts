import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startTestManager } from '../../fixtures/manager.ts'

const CALLS = 100

test('calls without a sign-in are answered in rounds of the event loop of their own, so that others come in between', async () => {
  await using manager = await startTestManager()
  const { port, host } = new URL(manager.url)
  const body = '{"email":1}'
  const fields = `Host: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  for (const head of [
    `GET /api/v1/nothing HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `GET /api/v1/sessions HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `POST /api/v1/auth/login HTTP/1.1\r\n${fields}\r\n${body}`,
  ]) {
    await using stack = new AsyncDisposableStack()
    const sockets = Array.from({ length: CALLS }, () => connect(Number(port), '127.0.0.1'))
    stack.defer(() => sockets.forEach(socket => void socket.destroy()))
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    const askAll = async () => {
      const answers = sockets.map(async socket => String((await once(socket, 'data'))[0]).slice(9, 12))
      for (const socket of sockets) socket.write(head)
      return new Set(await Promise.all(answers))
    }
    // New connections are taken one by one anyway.
    await askAll()
    let rounds = 0
    let isOver = false
    const count = () => {
      rounds++
      if (!isOver) setImmediate(count)
    }
    count()
    const statuses = await askAll()
    isOver = true
    expect(statuses.size).toBe(1)
    expect(rounds).toBeGreaterThanOrEqual(CALLS)
  }
})
