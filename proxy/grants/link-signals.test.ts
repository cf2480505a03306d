import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { linkSignals } from './link-signals.ts'

test('aborts with the reason of the first source that aborts', () => {
  const [a, b] = [new AbortController(), new AbortController()]
  using linked = linkSignals([a.signal, b.signal])
  expect(linked.signal.aborted).toBe(false)
  const reason = new Error('the client went away')
  b.abort(reason)
  a.abort(new Error('later'))
  expect(linked.signal.reason).toBe(reason)
})

test('is aborted at once where a source was', () => {
  using linked = linkSignals([AbortSignal.abort(new Error('before'))])
  expect(() => linked.signal.throwIfAborted()).toThrow('before')
})

test('aborts after its limit', async () => {
  using linked = linkSignals([], 1)
  await expect.poll(() => linked.signal.aborted).toBe(true)
  expect((linked.signal.reason as Error).name).toBe('TimeoutError')
})

test('leaves nothing in its sources when disposed', () => {
  const source = new AbortController()
  const linked = linkSignals([source.signal], 60_000)
  linked[Symbol.dispose]()
  expect(getEventListeners(source.signal, 'abort')).toHaveLength(0)
  source.abort()
  expect(linked.signal.aborted).toBe(false)
})
