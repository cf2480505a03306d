import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBatchThread } from './batch-thread.ts'

let directory: string
let fd: number
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'batch-'))
  for (let n = 0; n < 50; n++) writeFileSync(join(directory, `file-${n}`), 'x')
  fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY)
})
afterAll(() => {
  closeSync(fd)
  rmSync(directory, { recursive: true })
})

const names = (count: number) => Array.from({ length: count }, (_, n) => `file-${n}`)

test('a job that waits for its turn is taken back and changes nothing; the others run in their order', async () => {
  const thread = createBatchThread()
  const cut = new AbortController()
  const order: string[] = []
  const note = async (name: string, work: Promise<unknown>) => {
    await work
    order.push(name)
  }
  const first = note('first', thread.run('states', { directory: fd, names: names(50) }))
  const moved = thread.run(
    'move',
    { from: fd, to: fd, moves: [{ name: 'file-0', toName: 'moved', replace: true }] },
    { signal: cut.signal },
  )
  const last = note('last', thread.run('states', { directory: fd, names: names(1) }))
  cut.abort(new Error('too late'))
  await expect(moved).rejects.toThrow('too late')
  await Promise.all([first, last])
  expect(order).toEqual(['first', 'last'])
  expect(execFileSync('ls', [directory], { encoding: 'utf8' })).not.toContain('moved')
  await expect(
    thread.run('states', { directory: fd, names: names(1) }, { signal: AbortSignal.abort(new Error('over')) }),
  ).rejects.toThrow('over')
})

test('a job that cannot be sent is refused, and the next one runs', async () => {
  const thread = createBatchThread()
  const broken = { directory: fd, names: [Symbol('not to be sent')] } as never
  await expect(thread.run('states', broken)).rejects.toThrow(/could not be cloned/)
  expect(
    (await thread.run('states', { directory: fd, names: names(3) })).filter(state => state?.size === 1),
  ).toHaveLength(3)
})

test('users with jobs waiting come one after another', async () => {
  const thread = createBatchThread()
  const order: string[] = []
  const job = async (user: string, name: string) => {
    await thread.run('states', { directory: fd, names: names(1) }, { user })
    order.push(name)
  }
  const flood = Array.from({ length: 6 }, (_, at) => job('ada', `a${at}`))
  await Promise.all([...flood, job('bob', 'b0'), job('bob', 'b1'), job('cleo', 'c0')])
  expect(order).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3', 'a4', 'a5'])
})
