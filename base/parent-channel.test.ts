import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { answerParent, onParentGone } from './parent-channel.ts'

const HELPER = new URL('parent-channel.ts', import.meta.url).href

/** Answers questions. Answers once more after the channel has closed, and reports whether it still lives. */
const CHILD = `
import { answerParent } from '${HELPER}'
process.on('message', ({ id }) => answerParent(process, { id, ok: true, value: process.pid }))
process.on('disconnect', () => {
  answerParent(process, { id: 2, ok: true, value: 'too late' })
  setTimeout(() => process.stdout.write('stopped in order', () => process.exit(0)), 50)
})
`

/** Starts listening after its parent is gone, like a program that is still loading its files. */
const LATE_CHILD = `
import { onParentGone } from '${HELPER}'
while (process.connected) await new Promise(done => setTimeout(done, 5))
onParentGone(process, () => process.stdout.write('the parent is gone'))
`

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-parent-'))))
afterEach(() => rm(directory, { recursive: true }))

async function start(source: string) {
  const script = join(directory, 'child.mjs')
  await writeFile(script, source)
  const child = fork(script, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], execArgv: [] })
  const exited = once(child, 'exit')
  if (!child.stdout) throw new Error('the child has no standard output')
  return { child, exited, said: text(child.stdout) }
}

test('a child whose parent has closed the channel drops its answer and stops in order', async () => {
  const { child, exited, said } = await start(CHILD)
  child.send({ id: 1 })
  expect(await once(child, 'message')).toEqual([{ id: 1, ok: true, value: child.pid }, undefined])
  child.disconnect()
  expect(await said).toBe('stopped in order')
  expect(await exited).toEqual([0, null])
})

test('a child whose parent went before anything listened hears of it', async () => {
  const { child, exited, said } = await start(LATE_CHILD)
  child.disconnect()
  expect(await said).toBe('the parent is gone')
  expect(await exited).toEqual([0, null])
})

test.each([
  ['ERR_IPC_CHANNEL_CLOSED', false],
  ['EPIPE', false],
  ['EACCES', true],
])('an error of the channel with the code %s ends the process: %s', (code, isThrown) => {
  let done: (error: Error | null) => void = () => undefined
  answerParent({ send: (_message, callback) => ((done = callback), true) }, { id: 1, ok: true, value: null })
  const fail = () => done(Object.assign(new Error('the channel'), { code }))
  if (isThrown) expect(fail).toThrow('the channel')
  else expect(fail).not.toThrow()
})

test('a process without a channel answers nobody, and waits for no parent', () => {
  expect(() => answerParent({}, { id: 1, ok: true, value: null })).not.toThrow()
  onParentGone({}, () => expect.unreachable())
})
