import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startChild } from './child.ts'
import { type HeldPort, holdPort } from './held-port.ts'

/** Writes more than a pipe can hold before each answer, so that it hangs if nobody reads. */
const TALKER = `
console.log(JSON.stringify({ ready: 'talker' }))
process.on('message', ({ id }) => {
  process.stderr.write('x'.repeat(1 << 20) + '\\n', () => process.send({ id, ok: true, value: 'alive' }))
})
process.on('disconnect', () => process.exit())
process.on('SIGTERM', () => process.exit())
`

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-child-'))))
afterEach(() => rm(directory, { recursive: true }))

/** Reports its process id, and is never ready. */
const SILENT = `
import { writeFileSync } from 'node:fs'
writeFileSync(new URL('pid', import.meta.url), String(process.pid))
setInterval(() => undefined, 1_000)
`

async function startTalker(logFile: string, signal?: AbortSignal) {
  const script = join(directory, 'talker.mjs')
  await writeFile(script, TALKER)
  return await startChild({ name: 'manager', script, environment: {}, logFile, readyWithinMs: 20_000 }, signal)
}

test.runIf(process.platform === 'linux')('a full disk for its log stops neither a server nor berth up', async () => {
  await using child = await startTalker('/dev/full')
  expect(await child.ask('ping')).toBe('alive')
  expect(await child.ask('ping')).toBe('alive')
})

test('every request to a dead server fails with that reason', async () => {
  await using child = await startTalker(join(directory, 'log'))
  process.kill(child.pid, 'SIGKILL')
  await child.ended
  for (let time = 1; time <= 3; time++) {
    await expect(child.ask('ping')).rejects.toMatchObject({ code: 'unavailable' })
    // A send error is reported in the next turn of the event loop.
    await new Promise(setImmediate)
  }
})

test('a server that is not ready when berth up is to stop is stopped at once, not waited for', async () => {
  const script = join(directory, 'silent.mjs')
  await writeFile(script, SILENT)
  const stop = new AbortController()
  const logFile = join(directory, 'log')
  const starting = startChild({ name: 'manager', script, environment: {}, logFile, readyWithinMs: 60_000 }, stop.signal)
  const pid = async () => Number(await readFile(join(directory, 'pid'), 'utf8').catch(() => 0))
  await expect.poll(pid).toBeGreaterThan(0)
  const started = await pid()
  stop.abort(new Error('the user has other plans'))
  await expect(starting).rejects.toThrow('the user has other plans')
  expect(() => process.kill(started, 0)).toThrow('ESRCH')
  await expect(startTalker(logFile, stop.signal)).rejects.toThrow('the user has other plans')
})

/** Becomes ready, and then hangs: it ignores connections that are passed to it. */
const HANGING = `
import { writeSync } from 'node:fs'
writeSync(1, JSON.stringify({ ready: 'hanging' }) + '\\n')
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
`

/** Becomes ready, takes connections as servers do, and answers with its name. */
const ANSWERING = `
process.on('message', (message, socket) => {
  process.send({ taken: message.connection })
  if (socket) socket.end(process.env.NAME)
})
process.on('disconnect', () => process.exit())
console.log(JSON.stringify({ ready: 'answering' }))
`

test('connections on their way to a server that is killed go to the next one, ahead of later ones', async () => {
  await using held = await holdPort(['127.0.0.1'], 0)
  const start = async (name: string, source: string, port: HeldPort) => {
    const script = join(directory, `${name}.mjs`)
    await writeFile(script, source)
    const spec = { name: 'manager', script, logFile: join(directory, 'log'), readyWithinMs: 20_000 } as const
    return await startChild({ ...spec, environment: { NAME: name }, held: port })
  }
  let handed = 0
  const counted = {
    ...held,
    handTo: (take: (socket: Socket) => void) =>
      held.handTo(socket => {
        handed++
        take(socket)
      }),
  }
  await using killed = await start('killed', HANGING, counted)
  const open = async () => {
    const socket = connect(held.port, '127.0.0.1').on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }
  const early = await Promise.all(Array.from({ length: 20 }, open))
  await expect.poll(() => handed).toBe(20)
  process.kill(killed.pid, 'SIGKILL')
  await killed.ended
  const late = await open()
  await using _next = await start('next', ANSWERING, held)
  expect(await Promise.all([...early, late].map(socket => text(socket)))).toEqual(
    Array.from({ length: 21 }, () => 'next'),
  )
})

/** Takes its first connection, reads from it, and ends. */
const DYING = `
process.on('message', (message, socket) => {
  process.send({ taken: message.connection }, () => {
    socket.once('data', () => process.kill(process.pid, 'SIGKILL'))
  })
})
console.log(JSON.stringify({ ready: 'dying' }))
`

test('a connection that a server has taken ends with it, so that no other one reads the middle of a request', async () => {
  const script = join(directory, 'dying.mjs')
  await writeFile(script, DYING)
  await using held = await holdPort(['127.0.0.1'], 0)
  const spec = { name: 'manager', script, logFile: join(directory, 'log'), readyWithinMs: 20_000 } as const
  await using child = await startChild({ ...spec, environment: {}, held })
  const socket = connect(held.port, '127.0.0.1').on('error', () => undefined)
  const closed = once(socket, 'close')
  socket.write('GET / HTTP/1.1\r\n')
  await child.ended
  await closed
  const taken: Socket[] = []
  held.handTo(one => taken.push(one))
  expect(taken).toEqual([])
})

test('where a hanging server has too many connections, the oldest makes room for a new one', async () => {
  const script = join(directory, 'hanging.mjs')
  await writeFile(script, HANGING)
  await using held = await holdPort(['127.0.0.1'], 0)
  const spec = { name: 'manager', script, logFile: join(directory, 'log'), readyWithinMs: 20_000 } as const
  await using child = await startChild({ ...spec, environment: {}, held })
  const open = async () => {
    const socket = connect(held.port, '127.0.0.1').on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }
  // The first one is in the channel to the server, which alone can end it.
  const first = await open()
  const oldest = await open()
  const closed = once(oldest, 'close')
  const others: Socket[] = []
  for (let index = 0; index < 1024; index++) others.push(await open())
  await closed
  first.destroy()
  expect(others.at(-1)?.closed).toBe(false)
  for (const socket of others) socket.destroy()
  process.kill(child.pid, 'SIGKILL')
})
