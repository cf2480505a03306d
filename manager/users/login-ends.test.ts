import { expect, test } from 'vitest'
import { UserId } from '#manager/contract'
import { silentLog } from '../log.ts'
import { currentWork, onBehalfOf } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { createLoginEnds } from './login-ends.ts'

const ID = UserId.parse('00000000-0000-7000-8000-000000000000')
const store = { db: {}, now: () => 0 } as unknown as Store

test('what follows a change of an account does not wait behind the calls of whoever made the change', async () => {
  using ends = createLoginEnds({ store, notifier: { announce: () => Promise.resolve() }, log: silentLog })
  const { promise: told, resolve } = Promise.withResolvers<unknown>()
  ends.onChange(userIds => resolve([currentWork(), userIds]))
  onBehalfOf('mallory', () => ends.forget(ID))
  expect(await told).toEqual([undefined, new Set([ID])])
})

test('those who changed are told of once, and as all if anybody may have', async () => {
  using ends = createLoginEnds({ store, notifier: { announce: () => Promise.resolve() }, log: silentLog })
  const told: unknown[] = []
  ends.onChange(userIds => void told.push(userIds))
  ends.forget(null)
  ends.forget(ID)
  await expect.poll(() => told, { timeout: 60_000 }).toEqual([null])
  ends.forget(ID)
  await expect.poll(() => told, { timeout: 60_000 }).toEqual([null, new Set([ID])])
})
