import { expect, test } from 'vitest'
import { DEFAULT_RATE_LIMIT } from '#manager/contract'
import { pauseAfter, pollUntil } from './poll.ts'

test('polling is quick at first, and a keypair can wait for hours in several processes', () => {
  expect(pauseAfter(0)).toBe(250)
  expect(pauseAfter(2_000)).toBe(250)
  expect(pauseAfter(86_400_000)).toBe(10_000)
  let requests = 0
  for (let waited = 0; waited < 15 * 60_000; waited += pauseAfter(waited)) requests += 1
  expect(requests).toBeLessThan(DEFAULT_RATE_LIMIT / 5)
})

test('a signal ends polling with the last known state, also in the middle of a request', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const ask = () => {
    controller.abort()
    return Promise.reject(new Error('aborted'))
  }
  const last = await pollUntil({ first: 'first', ask, done: () => false, signal, note: () => undefined })
  expect(last).toBe('first')
})
