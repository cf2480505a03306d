import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { linkSignals } from './link-signals.ts'

test('the linked signal aborts with the reason of the first source that aborts', () => {
  const [a, b] = [new AbortController(), new AbortController()]
  using linked = linkSignals([a.signal, b.signal])
  expect(linked.signal.aborted).toBe(false)
  const reason = new Error('the client went away')
  b.abort(reason)
  a.abort(new Error('later'))
  expect(linked.signal.reason).toBe(reason)
})

test('the linked signal is aborted at once if a source was', () => {
  using linked = linkSignals([AbortSignal.abort(new Error('before'))])
  expect(() => linked.signal.throwIfAborted()).toThrow('before')
})

test('the linked signal aborts after its limit', async () => {
  using linked = linkSignals([], 1)
  await expect.poll(() => linked.signal.aborted).toBe(true)
  expect((linked.signal.reason as Error).name).toBe('TimeoutError')
})

test('disposing leaves no listener at the sources', () => {
  const source = new AbortController()
  const linked = linkSignals([source.signal], 60_000)
  linked[Symbol.dispose]()
  expect(getEventListeners(source.signal, 'abort')).toHaveLength(0)
  source.abort()
  expect(linked.signal.aborted).toBe(false)
})
