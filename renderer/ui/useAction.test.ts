// @vitest-environment happy-dom
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { useAction } from './useAction.ts'
import { useNotifications } from './useNotifications.ts'

beforeEach(() => setActivePinia(createPinia()))

test('an action is busy until it ends, and says which one of several it is', async () => {
  const { doing, busy, run } = useAction<string>()
  const { promise, resolve } = Promise.withResolvers<null>()
  const done = run(() => promise, 'second')
  expect([doing.value, busy.value]).toEqual(['second', true])
  resolve(null)
  expect(await done).toBe(true)
  expect([doing.value, busy.value]).toEqual([null, false])
})

test('a failure becomes a message, and the button can be used again', async () => {
  const { busy, run } = useAction()
  expect(await run(() => Promise.reject(new AppError('forbidden')))).toBe(false)
  expect(busy.value).toBe(false)
  expect(useNotifications().items).toMatchObject([{ kind: 'error' }])
})
