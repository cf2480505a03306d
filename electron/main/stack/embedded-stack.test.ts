import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startEmbeddedStack } from './embedded-stack.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-stack-'))
})
afterEach(() => rm(dir, { recursive: true }))

/** A real child that behaves like `berth up` as `script` says. */
async function commandOf(script: string): Promise<readonly [string, string]> {
  const file = path.join(dir, 'berth.mjs')
  await writeFile(file, script)
  return [process.execPath, file]
}
const UNTIL_STOPPED = `process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000);`

test('a stack that the app starts is its own: it reads address and ticket, and ends the stack at its end', async () => {
  const line = `{ url: 'http://localhost:8400/#/sign-in?ticket=one-time', adminEmail: 'admin@localhost', pid: process.pid }`
  const onExit = vi.fn()
  const stack = await startEmbeddedStack({
    command: await commandOf(`console.error('progress'); console.log(JSON.stringify(${line})); ${UNTIL_STOPPED}`),
    onExit,
  })
  expect(stack).toMatchObject({ endpoint: 'http://localhost:8400', ticket: 'one-time', owned: true })
  await stack[Symbol.asyncDispose]()
  expect(onExit).not.toHaveBeenCalled()
})

test('the isolation of sessions is reported, with keys for translations, also when it is full', async () => {
  const why = { why: 'iptables is not installed on the host.', cause: 'iptables_not_installed' }
  const lines = [{ partlyIsolated: why }, { partlyIsolated: null }, { partlyIsolated: 'nonsense' }]
  const heard: unknown[] = []
  await using _stack = await startEmbeddedStack({
    command: await commandOf(`
      for (const line of ${JSON.stringify(lines)}) console.error(JSON.stringify(line))
      console.log(JSON.stringify({ url: 'http://localhost:8400/', pid: process.pid }))
      ${UNTIL_STOPPED}`),
    onExit: () => undefined,
    report: { onStep: () => undefined, onLog: line => heard.push(line), onIsolation: found => heard.push(found) },
  })
  await expect.poll(() => heard).toEqual([why, null])
})

test('a stack that dies is started again', async () => {
  const marker = path.join(dir, 'starts')
  const onExit = vi.fn()
  await using stack = await startEmbeddedStack({
    command: await commandOf(`
      import { appendFileSync, readFileSync } from 'node:fs'
      appendFileSync(${JSON.stringify(marker)}, 'x')
      console.log(JSON.stringify({ url: 'http://localhost:8400/', pid: process.pid }))
      if (readFileSync(${JSON.stringify(marker)}, 'utf8').length < 3) setTimeout(() => process.exit(9), 50)
      ${UNTIL_STOPPED}`),
    onExit,
    restartAfterMs: 1,
  })
  await expect.poll(() => readFile(marker, 'utf8')).toBe('xxx')
  expect(onExit.mock.calls).toEqual([[9], [9]])
  expect(stack.owned).toBe(true)
})

test('a stack of another process is used and left alone', async () => {
  const stack = await startEmbeddedStack({
    command: await commandOf(`console.log(JSON.stringify({ url: 'http://localhost:8400/', pid: 1 }))`),
    onExit: () => undefined,
  })
  expect(stack).toMatchObject({ endpoint: 'http://localhost:8400', ticket: null, owned: false })
  await stack[Symbol.asyncDispose]()
})

test('a coded failure of the start is passed on, as the real `berth up` reports it', async () => {
  await writeFile(path.join(dir, 'berth.toml'), 'nonsense = 1\n')
  vi.stubEnv('BERTH_DATA', dir)
  const command = [process.execPath, path.resolve(import.meta.dirname, '../../../bin/berth')] as const
  await expect(startEmbeddedStack({ command, onExit: () => undefined })).rejects.toMatchObject({
    code: 'config_invalid',
    detail: { why: expect.stringContaining('nonsense') as string },
  })
  vi.unstubAllEnvs()
})

test.each([
  ['ends without a word', `process.exit(3)`],
  ['says nonsense and ends', `console.log('hello'); process.exit(0)`],
])('a stack that %s is unavailable', async (_what, script) => {
  const command = await commandOf(script)
  await expect(startEmbeddedStack({ command, onExit: () => undefined })).rejects.toMatchObject({ code: 'unavailable' })
})

test('a missing program is reported as unavailable', async () => {
  const command = [path.join(dir, 'no-such-node'), 'berth'] as const
  await expect(startEmbeddedStack({ command, onExit: () => undefined })).rejects.toMatchObject({ code: 'unavailable' })
})

test('a program that cannot be started at all is told as such', async () => {
  const [, file] = await commandOf('')
  const command = [path.join(file, 'node'), 'berth'] as const
  await expect(startEmbeddedStack({ command, onExit: vi.fn() })).rejects.toMatchObject({ code: 'unavailable' })
})
