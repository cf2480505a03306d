import { expect, test } from 'vitest'
import { UserId } from '#manager/contract'
import { CALL_LIMITS, createCallLimiter } from './call-limiter.ts'

const ANN = UserId.parse('00000000-0000-4000-8000-000000000001')
const BOB = UserId.parse('00000000-0000-4000-8000-000000000002')
const START = { route: 'startApp', isUpload: false } as const
const GRANT = { route: 'createGrant', isUpload: false } as const
const PART = { route: 'continueUpload', isUpload: true } as const
const ME = { route: 'me', isUpload: false } as const

test('uploads and starts of apps of one person are few at a time, others have their own, and an end makes room', () => {
  const limiter = createCallLimiter()
  const leaves = Array.from({ length: CALL_LIMITS.long }, (_, at) =>
    limiter.take(ANN, [START, GRANT, PART][at % 3] ?? ME),
  )
  for (const call of [START, GRANT, PART])
    expect(() => limiter.take(ANN, call)).toThrow(/64 uploads and starts of apps/)
  limiter.take(ANN, ME)()
  limiter.take(BOB, START)()
  leaves[0]?.()
  leaves[0]?.()
  limiter.take(ANN, START)
  expect(() => limiter.take(ANN, START)).toThrow(expect.objectContaining({ code: 'rate_limited' }))
})

test('calls of one person of any kind are bounded', () => {
  const limiter = createCallLimiter()
  const leaves = Array.from({ length: CALL_LIMITS.any }, () => limiter.take(ANN, ME))
  expect(() => limiter.take(ANN, ME)).toThrow(/256 calls in progress/)
  leaves[0]?.()
  limiter.take(ANN, ME)
})
