import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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

test.runIf(process.platform === 'linux')('a full disk for its log does not stop a server, nor us', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-child-'))
  try {
    const script = join(directory, 'talker.mjs')
    await writeFile(script, TALKER)
    const spec = { name: 'talker', script, environment: {}, logFile: '/dev/full', readyWithinMs: 20_000 }
    await using child = await startChild(spec)
    expect(await child.ask('ping')).toBe('alive')
    expect(await child.ask('ping')).toBe('alive')
  } finally {
    await rm(directory, { recursive: true })
  }
})
