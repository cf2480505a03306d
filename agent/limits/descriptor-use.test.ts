import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { temporaryDirectory } from '../../test/fixtures/manager.ts'
import { descriptorUse } from './descriptor-use.ts'

let stack: AsyncDisposableStack
afterEach(() => stack.disposeAsync())

/** A process that runs the code and has said that it is ready. */
async function holder(code: string): Promise<ChildProcess & { pid: number }> {
  stack = new AsyncDisposableStack()
  const directory = stack.use(await temporaryDirectory())
  const program = join(directory.path, 'holder.mjs')
  await writeFile(program, `${code}\nprocess.send('ready'); process.on('message', () => undefined)`)
  const child = fork(program)
  stack.defer(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  if (child.pid === undefined) throw new Error('no process')
  return Object.assign(child, { pid: child.pid })
}

test('inotify instances and watches, and watches of epoll', async () => {
  const { pid } = await holder(`
    import { watch } from 'node:fs'
    for (const path of ['/tmp', '/usr', '/etc']) watch(path)`)
  expect((await descriptorUse([pid])).counts.get(pid)).toMatchObject({ instances: 1, watches: 3, inFlight: 0 })
  expect((await descriptorUse([pid])).counts.get(pid)?.epollWatches).toBeGreaterThan(0)
})

test('descriptors that wait in a socket for a process that does not take them', async () => {
  const child = await holder('')
  child.kill('SIGSTOP')
  const server = createServer().listen(0, '127.0.0.1')
  stack.defer(() => void server.close())
  await once(server, 'listening')
  child.send('take', server)
  await expect.poll(async () => (await descriptorUse([child.pid])).counts.get(child.pid)?.inFlight).toBe(1)
})

test('a process that has ended holds nothing', async () => {
  const child = await holder('')
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await descriptorUse([child.pid])).toEqual({ counts: new Map(), sockets: new Set() })
})
