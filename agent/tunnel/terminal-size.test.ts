import { expect, test } from 'vitest'
import { followSize, type Size } from './terminal-size.ts'

const failed = (error: unknown) => expect.unreachable(String(error))
const aSize = (cols: number): Size => ({ cols, rows: 24 })

/** Refuses sizes until `start` is called, as the engine does until the process runs. */
function anEngine() {
  const taken: number[] = []
  const engine = { taken, asked: 0, isStarted: false, hold: undefined as Promise<unknown> | undefined }
  const apply = async ({ cols }: Size) => {
    engine.asked += 1
    await engine.hold
    if (!engine.isStarted) throw new Error('the process does not run yet')
    taken.push(cols)
  }
  return { engine, apply }
}

test('a size that the engine refuses at first is tried again until it is taken', async () => {
  const { engine, apply } = anEngine()
  const resize = followSize(apply, new AbortController().signal, failed, 1)
  resize(aSize(101))
  await expect.poll(() => engine.asked).toBeGreaterThan(2)
  engine.isStarted = true
  await expect.poll(() => engine.taken).toEqual([101])
  resize(aSize(90))
  await expect.poll(() => engine.taken).toEqual([101, 90])
})

test('of the sizes that come while the engine is at work only the newest is applied, and last', async () => {
  const { engine, apply } = anEngine()
  const held = Promise.withResolvers<unknown>()
  Object.assign(engine, { isStarted: true, hold: held.promise })
  const resize = followSize(apply, new AbortController().signal, failed, 1)
  for (const cols of [80, 81, 82]) resize(aSize(cols))
  held.resolve(undefined)
  await expect.poll(() => engine.taken).toEqual([80, 82])
})

test('an engine that never takes it is given up, and asked again with the next size', async () => {
  const { engine, apply } = anEngine()
  const failures: unknown[] = []
  const resize = followSize(apply, new AbortController().signal, error => failures.push(error), 0)
  resize(aSize(80))
  await expect.poll(() => failures).toEqual([new Error('the process does not run yet')])
  engine.isStarted = true
  resize(aSize(90))
  await expect.poll(() => engine.taken).toEqual([90])
})

test('nothing is asked any more once the terminal has ended', async () => {
  const { engine, apply } = anEngine()
  const end = new AbortController()
  followSize(apply, end.signal, failed, 1)(aSize(80))
  await expect.poll(() => engine.asked).toBeGreaterThan(0)
  end.abort()
  const { asked } = engine
  await new Promise(done => setTimeout(done, 20))
  expect(engine.asked).toBeLessThanOrEqual(asked + 1)
})
