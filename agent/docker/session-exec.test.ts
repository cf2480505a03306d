import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type Docker from 'dockerode'
import { isAppError } from '#manager/contract'
import { AT_ONCE, LONGEST_TURN_MS, MOST_WAITING, startExec } from './session-exec.ts'

/** An engine that has started an exec once the test says so. */
function heldEngine() {
  const running = new Map<string, (() => void)[]>()
  const engine = {
    getContainer: (id: string) => ({
      exec: () => {
        let isStarted = false
        return Promise.resolve({
          start: () => {
            running.set(id, [...(running.get(id) ?? []), () => (isStarted = true)])
            return Promise.resolve(new PassThrough())
          },
          inspect: () => Promise.resolve({ Pid: isStarted ? 42 : 0, ExitCode: null }),
        })
      },
    }),
  } as unknown as Pick<Docker, 'getContainer'>
  const startsOf = (id: string) => running.get(id)?.length ?? 0
  /** Lets the execs of a container start until none is asked for any more. */
  const finish = async (id: string, count: number) => {
    await expect
      .poll(() => {
        for (const start of running.get(id) ?? []) start()
        return startsOf(id)
      })
      .toBe(count)
  }
  return { engine, startsOf, finish }
}

const place = (containerId: string) => ({ containerId, user: '1000:1000' })

test('execs of one session that have not started leave the engine to those of others', async () => {
  const { engine, startsOf, finish } = heldEngine()
  const many = Array.from({ length: 50 }, () => startExec(engine, place('many'), ['true']))
  await expect.poll(() => startsOf('many')).toBeGreaterThan(0)
  await startExec(engine, place('other'), ['true'])
  expect(startsOf('other')).toBe(1)
  expect(startsOf('many')).toBeLessThan(50)
  await finish('many', 50)
  await Promise.all(many)
  await finish('other', 1)
})

test('a session that asks for ever more execs is refused', async () => {
  const engine = {
    getContainer: () => ({ exec: () => Promise.reject(new Error('the engine refuses')) }),
  } as unknown as Pick<Docker, 'getContainer'>
  const asked = Array.from({ length: MOST_WAITING + 100 }, () => startExec(engine, place('flood'), ['true']))
  const ends = await Promise.allSettled(asked)
  const isTooMany = (end: PromiseSettledResult<unknown>) =>
    end.status === 'rejected' && isAppError(end.reason) && end.reason.code === 'commands_at_most'
  expect(ends.filter(isTooMany)).toHaveLength(100)
  await expect(startExec(engine, place('flood'), ['true'])).rejects.toThrow('the engine refuses')
})

test('containers on which the engine hangs keep others waiting for a bounded time', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const started = { start: () => Promise.resolve(new PassThrough()), inspect: () => Promise.resolve({ Pid: 42 }) }
  let hanging = 0
  const hang = () => {
    hanging++
    return new Promise(() => undefined)
  }
  const engine = {
    getContainer: (id: string) => ({
      exec: () => (id.startsWith('hangs') ? hang() : Promise.resolve(started)),
    }),
  } as unknown as Pick<Docker, 'getContainer'>
  for (let at = 0; at < AT_ONCE; at++) void startExec(engine, place(`hangs-${at % 2}`), ['true'])
  // Execs of other tests may still have a turn.
  while (hanging < AT_ONCE) await delay(5)
  let isThere = false
  const other = startExec(engine, place('other'), ['true']).then(() => (isThere = true))
  await vi.advanceTimersByTimeAsync(LONGEST_TURN_MS - 1)
  expect(isThere).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  await other
})
