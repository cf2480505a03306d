import fc from 'fast-check'
import { expect, test } from 'vitest'
import { tryStopping } from './stop-trial.ts'

const MiB = 2 ** 20
const GiB = 2 ** 30
const LEAST = 16 * MiB

/** A disk, a session and a program outside it, on a clock that only waiting moves. */
function world({ session = 0, found = 0, outside = () => 0 }: Partial<World> = {}) {
  const it = { ms: 0, left: 100 * GiB, used: 0, isStopped: false, stops: 0 }
  return {
    it,
    least: LEAST,
    now: () => it.ms,
    wait: (ms: number) => {
      for (let passed = 0; passed < ms; passed++) {
        it.ms += 1
        it.left -= outside(it.ms) + (it.isStopped ? 0 : session)
        it.used += it.isStopped ? 0 : session * found
      }
      return Promise.resolve()
    },
    left: () => Promise.resolve(it.left),
    use: () => Promise.resolve(it.used),
    stop: () => {
      it.isStopped = true
      it.stops += 1
      return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve(void (it.isStopped = false)) })
    },
  }
}
interface World {
  /** Bytes a millisecond that the session takes while it runs. */
  readonly session: number
  /** Part of them that is in files that can be found. */
  readonly found: number
  /** Bytes that something outside the sessions takes in this millisecond. */
  readonly outside: (ms: number) => number
}

test('a session whose hidden bytes fill the disk is found, slow or fast, also while others write a little', async () => {
  for (const session of [0.01 * MiB, MiB, 4 * MiB]) {
    const slow = world({ session, outside: () => 1024 })
    expect(await tryStopping(slow)).toBe('cause')
    expect(slow.it.isStopped).toBe(false)
  }
})

test('a session that takes nothing is never the cause while something outside the sessions fills the disk', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: GiB }),
      fc.integer({ min: 1, max: 300 }),
      fc.infiniteStream(fc.double({ min: 0.75, max: 1.25, noNaN: true })),
      async (bytes, everyMs, unsteady) => {
        let nextAt = 0
        const outside = (ms: number) => {
          if (ms < nextAt) return 0
          nextAt = ms + everyMs * (unsteady.next().value ?? 1)
          return bytes
        }
        const innocent = world({ outside })
        expect(await tryStopping(innocent)).not.toBe('cause')
        expect(innocent.it.isStopped).toBe(false)
      },
    ),
  ))

test('a session that has taken little, or whose files can be found, hides nothing', async () => {
  const idle = world()
  expect(await tryStopping(idle)).toBe('unclear')
  expect(idle.it.stops).toBe(0)
  expect(await tryStopping(world({ session: MiB, found: 0.9 }))).toBe('other')
})

test('without a way to stop the session, or to ask the file system, nothing is shown', async () => {
  expect(await tryStopping({ ...world({ session: MiB }), stop: () => Promise.resolve(undefined) })).toBe('unclear')
  expect(await tryStopping({ ...world({ session: MiB }), left: () => Promise.resolve(undefined) })).toBe('unclear')
})
