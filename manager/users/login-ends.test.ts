import { expect, test } from 'vitest'
import { UserId } from '#manager/contract'
import { silentLog } from '../log.ts'
import { currentWork, onBehalfOf } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { createLoginEnds } from './login-ends.ts'

test('what follows a change of an account does not wait behind the calls of whoever made the change', async () => {
  const store = { db: {}, now: () => 0 } as unknown as Store
  using ends = createLoginEnds({ store, notifier: { announce: () => Promise.resolve() }, log: silentLog })
  const { promise: told, resolve } = Promise.withResolvers<unknown>()
  ends.onChange(() => resolve(currentWork()))
  onBehalfOf('mallory', () => ends.forget(UserId.parse('00000000-0000-7000-8000-000000000000')))
  expect(await told).toBeUndefined()
})
