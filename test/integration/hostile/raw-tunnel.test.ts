import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { letIn, startAttack } from './hostile-app.ts'
import { each, exchange, saying } from './peers.ts'

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

const MIB = 2 ** 20
/** The long mode uses more: BERTH_HOSTILE_MIB=10240. */
const TRANSFER_MIB = Number(process.env.BERTH_HOSTILE_MIB ?? 1024)

test('TCP peers that reset, half-close or disconnect at any byte, on either side, leave nothing behind', async () => {
  const { app, victim } = await startAttack(stack)
  const { port } = (await victim.ask({ open: 'raw' })) as { port: number }
  const request = 'x\r\n\r\n'
  await exchange(port, request)
  const before = await victim.descriptors()
  const ends = ['end', 'destroy', 'resetAndDestroy'] as const
  const cases = ends.flatMap(far => ends.flatMap(near => Array.from({ length: 12 }, (_, cut) => ({ far, near, cut }))))
  app.respond = (socket, head) => {
    const { far, cut } = cases[Number(/^\d+/.exec(head)?.[0])] ?? { far: 'end', cut: 0 }
    socket.write('y'.repeat(cut), () => socket[far]())
  }
  await each(cases, async ({ near, cut }, index) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
    const closed = new Promise<void>(resolve => socket.on('close', () => resolve()))
    socket.on('error', () => undefined)
    const bytes = `${index}\r\n\r\n${'z'.repeat(100)}`
    socket.write(bytes.slice(0, bytes.length - cut), () => socket[near]())
    const timer = setTimeout(() => socket.destroy(), 3_000)
    await closed
    clearTimeout(timer)
  })
  victim.assertAlive()
  app.respond = saying('fine')
  expect((await exchange(port, request)).text).toBe('fine')
  await expect.poll(() => victim.descriptors(), { timeout: 40_000 }).toBeLessThanOrEqual(before + 4)
})

test(`an answer of ${TRANSFER_MIB} MiB at full speed needs constant memory`, { timeout: 1_200_000 }, async () => {
  const { app, victim } = await startAttack(stack)
  const browser = await letIn(victim)
  const block = Buffer.alloc(256 * 1024, 120)
  const size = TRANSFER_MIB * MIB
  app.respond = socket => {
    let left = size
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
    const more = () => {
      while (left > 0 && !socket.destroyed) {
        left -= block.length
        if (!socket.write(block)) return
      }
      if (left <= 0) socket.end()
    }
    socket.on('drain', more)
    more()
  }
  const socket = connect({ port: browser.port, host: '127.0.0.1' })
  socket.write(browser.head())
  let got = 0
  let most = 0
  let first = 0
  let measured = 0
  for await (const chunk of socket) {
    got += (chunk as Buffer).length
    if (got - measured < 64 * MIB) continue
    measured = got
    const now = await victim.residentBytes()
    // Baseline: the first 64 MiB have loaded all code and filled the buffers.
    first ||= now
    most = Math.max(most, now)
  }
  expect(got).toBeGreaterThan(size)
  // The limit is wide, because a busy machine collects garbage late. Without back pressure, memory would grow by the whole answer.
  expect(most - first).toBeLessThan(Math.min(256, TRANSFER_MIB / 4) * MIB)
})
