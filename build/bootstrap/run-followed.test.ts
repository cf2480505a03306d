import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ROOT } from './image-recipes.ts'
import { listProcesses, readProcesses } from './process-table.ts'
import { runFollowed } from './run-followed.ts'
import { CANCEL_SIGNAL } from './run-reporter.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'berth-test-followed-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const file = (name: string) => join(folder, name)
const pidIn = (name: string) => Number(readFileSync(file(name), 'utf8'))
/** Whether the process with the id in this file lives. */
const lives = (name: string) => readProcesses(listProcesses()).some(({ pid }) => pid === pidIn(name))

/**
 * Starts a process in its own session that ignores SIGTERM, and writes its id to the file. Like `berth up` in the tests, but more stubborn.
 */
const STUBBORN = `
  const { spawn } = require('node:child_process')
  const { writeFileSync } = require('node:fs')
  const deaf = "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1000)"
  const start = path => {
    const child = spawn(process.execPath, ['-e', deaf], { detached: true, stdio: 'ignore' })
    child.unref()
    writeFileSync(path, String(child.pid))
  }`

const nodeProgram = (code: string) => ({
  ...{ command: process.execPath, args: ['-e', `${STUBBORN}; ${code}`], cwd: folder, env: process.env },
  log: { path: file('log'), append: false },
  patienceMs: 200,
})

describe.skipIf(process.platform !== 'linux')('a program that is followed', () => {
  test('its output and its exit code come back, and a process that it leaves behind does not stay', async () => {
    const leaves = nodeProgram(`start('left'); console.log('said'); setTimeout(() => process.exit(3), 1_500)`)
    const ended = await runFollowed(leaves, new AbortController().signal)
    expect(ended.code, readFileSync(file('log'), 'utf8')).toBe(3)
    // The kernel divides so little time between the two by a sample.
    expect(ended.processor.user + ended.processor.system).toBeGreaterThan(0)
    expect(readFileSync(file('log'), 'utf8')).toBe('said\n')
    expect(lives('left')).toBe(false)
  })

  test('an interrupted test run cleans up in order, and what outlives its tests is ended', async () => {
    writeFileSync(
      file('endless.test.ts'),
      `import { createRequire } from 'node:module'
       import { afterAll, test } from 'vitest'
       const require = createRequire(import.meta.url)
       ${STUBBORN}
       afterAll(() => writeFileSync(${JSON.stringify(file('cleaned'))}, ''))
       test('never ends by itself', async ({ signal }) => {
         start(${JSON.stringify(file('left'))})
         await new Promise(resolve => signal.addEventListener('abort', resolve))
       }, 60_000)`,
    )
    const stop = new AbortController()
    const vitest = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder]
    const args = [...vitest, `--reporter=${join(ROOT, 'build/bootstrap/run-reporter.ts')}`]
    const log = { path: file('log'), append: false }
    const running = runFollowed(
      { command: process.execPath, args, cwd: ROOT, env: process.env, log, cancelBy: CANCEL_SIGNAL, patienceMs: 200 },
      stop.signal,
    )
    await expect.poll(() => existsSync(file('left')) && lives('left')).toBe(true)
    stop.abort()
    expect((await running).code).not.toBe(0)
    expect(existsSync(file('cleaned'))).toBe(true)
    expect(lives('left')).toBe(false)
  })

  test('the end of the process that follows ends the program too, at once', async () => {
    const main = `import { runFollowed } from ${JSON.stringify(join(import.meta.dirname, 'run-followed.ts'))}
      const program = { command: process.execPath, args: ['-e', process.argv[1]], cwd: ${JSON.stringify(folder)}, env: process.env }
      process.on('SIGTERM', () => process.exit(7))
      await runFollowed(program, new AbortController().signal)`
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      main,
      `${STUBBORN}; start('left'); setInterval(() => undefined, 1000)`,
    ])
    const exited = new Promise<number | null>(resolve => child.once('exit', resolve))
    await expect.poll(() => existsSync(file('left')) && lives('left')).toBe(true)
    child.kill('SIGTERM')
    expect(await exited).toBe(7)
    await expect.poll(() => lives('left')).toBe(false)
  })
})
