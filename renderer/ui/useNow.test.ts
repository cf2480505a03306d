import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { effectScope, nextTick, ref } from 'vue'
import { type Step, useNow } from './useNow.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-11-23T10:00:00.000Z') })
})
afterEach(() => {
  vi.useRealTimers()
})

test('nothing runs while no time is shown, and each is as exact as it is asked for', async () => {
  const step = ref<Step>(null)
  const scope = effectScope()
  const [now, minute] = scope.run(() => [useNow(step), useNow('minute')])!
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(59_000)
  expect([now.value, minute.value].map(date => date.toISOString().slice(14, 19))).toEqual(['00:00', '00:00'])
  step.value = 'second'
  await nextTick()
  expect(now.value.toISOString().slice(14, 19)).toBe('00:59')
  vi.advanceTimersByTime(2_000)
  expect([now.value, minute.value].map(date => date.toISOString().slice(14, 19))).toEqual(['01:01', '01:00'])
  step.value = null
  await nextTick()
  vi.advanceTimersByTime(5_000)
  expect(now.value.toISOString().slice(14, 19)).toBe('01:01')
  scope.stop()
  expect(vi.getTimerCount()).toBe(0)
})

test('parts of a page that show seconds share a timer', () => {
  const scopes = [1, 2, 3].map(() => {
    const scope = effectScope()
    scope.run(() => useNow())
    return scope
  })
  expect(vi.getTimerCount()).toBe(1)
  for (const scope of scopes) scope.stop()
  expect(vi.getTimerCount()).toBe(0)
})
