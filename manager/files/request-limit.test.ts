import { expect, test } from 'vitest'
import { UserId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { limitRequests } from './request-limit.ts'

test('one person has a bounded number of requests in flight; others have their own', () => {
  const enter = limitRequests(2)
  const [ada, eve] = [{ userId: newId(UserId) }, { userId: newId(UserId) }]
  const first = enter(ada)
  enter(ada)
  expect(() => enter(ada)).toThrow(expect.objectContaining({ code: 'rate_limited' }))
  enter(eve)
  first[Symbol.dispose]()
  enter(ada)
  expect(() => enter(ada)).toThrow(expect.objectContaining({ code: 'rate_limited' }))
})
