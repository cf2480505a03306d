import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test, vi } from 'vitest'
import { silentLog } from '../../log.ts'
import { superviseServer } from './supervise-server.ts'

/** Fake database: a process that starts only while it is allowed to. */
function aServer() {
  const started: ChildProcess[] = []
  const server = {
    started,
    attempts: 0,
    canStart: true,
    async start() {
      server.attempts++
      if (!server.canStart) throw new Error('no space left on device')
      const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1_000)'], { stdio: 'ignore' })
      await once(child, 'spawn')
      started.push(child)
      return child
    },
  }
  return server
}

const SOON = { timeout: 30_000 }
const options = { log: silentLog, delayMs: () => 1 }
const isAlive = (child: ChildProcess | undefined) => child?.exitCode === null && child.signalCode === null

test('a database that dies is started again, however often that fails', async () => {
  const server = aServer()
  await using _supervised = await superviseServer({ ...options, start: () => server.start() })
  server.canStart = false
  server.started[0]?.kill('SIGKILL')
  await vi.waitFor(() => expect(server.attempts).toBeGreaterThan(50), SOON)
  server.canStart = true
  await vi.waitFor(() => expect(isAlive(server.started[1])).toBe(true), SOON)
  server.started[1]?.kill('SIGKILL')
  await vi.waitFor(() => expect(isAlive(server.started[2])).toBe(true), SOON)
})

test('disposing stops the database, and ends the wait for one that does not start', async () => {
  const running = aServer()
  const supervised = await superviseServer({ ...options, start: () => running.start() })
  await supervised[Symbol.asyncDispose]()
  await vi.waitFor(() => expect(isAlive(running.started[0])).toBe(false), SOON)
  expect(running.attempts).toBe(1)

  const broken = aServer()
  const waiting = await superviseServer({ log: silentLog, delayMs: () => 3_600_000, start: () => broken.start() })
  broken.canStart = false
  broken.started[0]?.kill('SIGKILL')
  await vi.waitFor(() => expect(broken.attempts).toBe(2), SOON)
  await waiting[Symbol.asyncDispose]()
  expect(broken.attempts).toBe(2)
})

test('a failed first start is reported, not repeated', async () => {
  const server = aServer()
  server.canStart = false
  await expect(superviseServer({ ...options, start: () => server.start() })).rejects.toThrow('no space left')
  expect(server.attempts).toBe(1)
})
