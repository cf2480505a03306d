import { chmod, mkdir, mkdtemp, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askRunning, askStarting, controlSocketPath, makePrivate, openControlSocket } from './control-socket.ts'

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-'))))
afterEach(() => rm(directory, { recursive: true }))

const running = {
  url: 'http://localhost:1',
  signInUrl: 'x',
  localUrl: 'http://localhost:8400/#/sessions?local=code',
  proxyFaults: [],
  signInPage: 'p',
  adminEmail: 'a',
  adminPasswordFile: 'f',
  pid: 1,
}

test('a second start finds the first one and its address', async () => {
  const path = controlSocketPath(directory)
  await using first = await openControlSocket(path, () => Promise.resolve(running))
  expect(first).toBeDefined()
  expect(await openControlSocket(path, () => Promise.resolve(running))).toBeUndefined()
  expect(await askRunning(path)).toEqual(running)
})

test('a second start waits for a first one that is still starting, and no longer than that one lives', async () => {
  const path = controlSocketPath(directory)
  const waiting = { everyMs: 1, withinMs: 600_000, signal: new AbortController().signal }
  let asked = 0
  const first = await openControlSocket(path, () =>
    ++asked < 4 ? Promise.reject(new Error()) : Promise.resolve(running),
  )
  expect(await askStarting(path, waiting)).toEqual(running)

  asked = -Infinity
  const asking = askStarting(path, waiting)
  await first?.[Symbol.asyncDispose]()
  expect(await asking).toBeUndefined()
})

test('a second start waits for one that does not get ready only as long as it is told, and not after Ctrl-C', async () => {
  const path = controlSocketPath(directory)
  await using first = await openControlSocket(path, () => Promise.reject(new Error()))
  expect(first).toBeDefined()
  const stop = new AbortController()
  expect(await askStarting(path, { everyMs: 1, withinMs: 20, signal: stop.signal })).toBeUndefined()
  const asking = askStarting(path, { everyMs: 600_000, withinMs: 600_000, signal: stop.signal })
  stop.abort()
  await expect(asking).rejects.toThrow('aborted')
})

test('the socket of a killed process is taken over', async () => {
  const path = controlSocketPath(directory)
  await writeFile(path, '')
  await utimes(path, 1, 1)
  await using lock = await openControlSocket(path, () => Promise.resolve(running))
  expect(lock).toBeDefined()
})

test('a missing server is undefined, not an error', async () => {
  expect(await askRunning(controlSocketPath(directory))).toBeUndefined()
})

test('a data directory with a long path gets a short socket in a directory of this user alone', async () => {
  const path = controlSocketPath(`/${'x'.repeat(200)}${directory}`)
  expect(path.length).toBeLessThan(100)
  await using lock = await openControlSocket(path, () => Promise.resolve(running))
  expect(lock).toBeDefined()
  expect((await stat(dirname(path))).mode & 0o777).toBe(0o700)
  expect(await askRunning(path)).toEqual(running)
})

test('a directory that others can write to, or a link, is not used', async () => {
  const open = join(directory, 'open')
  await mkdir(open)
  await chmod(open, 0o777)
  await symlink(directory, join(directory, 'link'))
  await expect(makePrivate(open)).rejects.toMatchObject({ code: 'config_invalid' })
  await expect(makePrivate(join(directory, 'link'))).rejects.toMatchObject({ code: 'config_invalid' })
  await makePrivate(join(directory, 'new'))
})
