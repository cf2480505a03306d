import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askRunning, controlSocketPath, openControlSocket } from './control-socket.ts'

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-'))))
afterEach(() => rm(directory, { recursive: true }))

const running = {
  url: 'http://localhost:1',
  signInUrl: 'x',
  signInPage: 'p',
  adminEmail: 'a',
  adminPasswordFile: 'f',
  pid: 1,
}

test('the second start finds the first and learns where it is', async () => {
  const path = controlSocketPath(directory)
  await using first = await openControlSocket(path, () => Promise.resolve(running))
  expect(first).toBeDefined()
  expect(await openControlSocket(path, () => Promise.resolve(running))).toBeUndefined()
  expect(await askRunning(path)).toEqual(running)
})

test('the socket of a process that was killed is taken over', async () => {
  const path = controlSocketPath(directory)
  await writeFile(path, '')
  await utimes(path, 1, 1)
  await using lock = await openControlSocket(path, () => Promise.resolve(running))
  expect(lock).toBeDefined()
})

test('nobody there is undefined, not an error', async () => {
  expect(await askRunning(controlSocketPath(directory))).toBeUndefined()
})

test('a data directory with a long path gets a short socket', async () => {
  const path = controlSocketPath(`/${'x'.repeat(200)}`)
  expect(path.length).toBeLessThan(100)
  await using server = createServer()
  await new Promise<void>(resolve => server.listen(path, resolve))
})
