import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startChild } from './child.ts'

/** Says more than a pipe holds before each answer, so that it hangs if nobody reads. */
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

async function startTalker(logFile: string) {
  const script = join(directory, 'talker.mjs')
  await writeFile(script, TALKER)
  return await startChild({ name: 'manager', script, environment: {}, logFile, readyWithinMs: 20_000 })
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
