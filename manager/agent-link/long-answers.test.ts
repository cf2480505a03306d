import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AgentId, KernelId, UserId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { type AgentRequests } from './connection.ts'
import { createLongAnswers } from './long-answers.ts'

const [agentId, ada, bob] = [newId(AgentId), newId(UserId), newId(UserId)]
const HOW = { timeoutMs: 1_000 }

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** @param text of each log */
function answering(text = 'x') {
  const tails: number[] = []
  let [atOnce, most] = [0, 0]
  const request = async (_agent: AgentId, _name: string, { tail }: { tail: number }) => {
    tails.push(tail)
    most = Math.max(most, ++atOnce)
    await Promise.resolve()
    atOnce--
    return { text, truncated: false }
  }
  const answers = createLongAnswers({ request } as unknown as AgentRequests)
  const ask = (userId: UserId, tail: number, signal?: AbortSignal) =>
    answers.ask({ agentId, userId }, 'get_logs', { kernelId: newId(KernelId), tail }, { ...HOW, signal })
  return { ask, tails, most: () => most }
}

test('an agent gives one long answer at a time, and people take turns', async () => {
  const { ask, tails, most } = answering()
  await Promise.all([...[1, 2, 3, 4].map(tail => ask(ada, tail)), ask(bob, 10)])
  expect(tails).toEqual([1, 2, 10, 3, 4])
  expect(most()).toBe(1)
})

test('beyond a burst, long answers take half of what an agent may send', async () => {
  const { ask, tails } = answering('x'.repeat(1024 * 1024))
  const all = Promise.all(Array.from({ length: 20 }, (_, tail) => ask(ada, tail)))
  await vi.advanceTimersByTimeAsync(0)
  expect(tails.length).toBeLessThan(10)
  const begun = tails.length
  await vi.advanceTimersByTimeAsync(10_000)
  expect(tails.length - begun).toBeGreaterThanOrEqual(4)
  expect(tails.length - begun).toBeLessThanOrEqual(6)
  await vi.advanceTimersByTimeAsync(60_000)
  await all
})

test('whoever has gone is not asked for', async () => {
  const { ask, tails } = answering()
  const gone = new AbortController()
  const first = ask(ada, 1)
  const second = ask(ada, 2, gone.signal)
  gone.abort(new Error('gone'))
  await expect(second).rejects.toThrow('gone')
  await first
  expect(tails).toEqual([1])
})
