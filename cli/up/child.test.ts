import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startChild } from './child.ts'
import { holdPort } from './held-port.ts'

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

test('connections on their way to a server that is killed end, and later ones wait for the next', async () => {
  const script = join(directory, 'hanging.mjs')
  await writeFile(script, HANGING)
  await using held = await holdPort(['127.0.0.1'], 0)
  const logFile = join(directory, 'log')
  let handed = 0
  const counted = {
    ...held,
    handTo: (take: (socket: Socket) => void) =>
      held.handTo(socket => {
        handed++
        take(socket)
      }),
  }
  await using child = await startChild({
    ...{ name: 'manager', script, environment: {}, logFile, readyWithinMs: 20_000 },
    held: counted,
  })
  const open = async () => {
    const socket = connect(held.port, '127.0.0.1').on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }
  const early = await Promise.all(Array.from({ length: 20 }, open))
  await expect.poll(() => handed).toBe(20)
  process.kill(child.pid, 'SIGKILL')
  await child.ended
  const late = await open()
  await expect.poll(() => early.filter(socket => !socket.closed).length).toBe(0)
  expect(late.closed).toBe(false)
  late.destroy()
})
