import { afterEach, expect, test, vi } from 'vitest'
import { effectScope, nextTick, ref } from 'vue'
import { useUntilBack } from './useUntilBack.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('it asks only while something is away, with longer and longer pauses, and no more after its end', async () => {
  vi.useFakeTimers()
  vi.stubGlobal('document', { hidden: false })
  const away = ref(false)
  const ask = vi.fn(() => Promise.resolve())
  const scope = effectScope()
  scope.run(() => useUntilBack(() => away.value, ask))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(ask).not.toHaveBeenCalled()

  away.value = true
  await nextTick()
  await vi.advanceTimersByTimeAsync(60_000)
  const asked = ask.mock.calls.length
  expect(asked).toBeGreaterThan(2)
  expect(asked).toBeLessThan(10)

  away.value = false
  await nextTick()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(ask).toHaveBeenCalledTimes(asked)

  away.value = true
  await nextTick()
  scope.stop()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(ask).toHaveBeenCalledTimes(asked)
})
