import { expect, test } from 'vitest'
import { UserId } from '#manager/contract'
import { CALL_LIMITS, createCallPlaces } from './call-places.ts'

const ANN = UserId.parse('00000000-0000-4000-8000-000000000001')
const BOB = UserId.parse('00000000-0000-4000-8000-000000000002')
const START = { route: 'startApp', isUpload: false } as const
const GRANT = { route: 'createGrant', isUpload: false } as const
const PART = { route: 'continueUpload', isUpload: true } as const
const ME = { route: 'me', isUpload: false } as const

test('uploads and starts of apps of one person are few at a time, others have their own, and an end makes room', () => {
  const places = createCallPlaces()
  const leaves = Array.from({ length: CALL_LIMITS.lasting }, (_, at) =>
    places.take(ANN, [START, GRANT, PART][at % 3] ?? ME),
  )
  for (const call of [START, GRANT, PART]) expect(() => places.take(ANN, call)).toThrow(/64 uploads and starts of apps/)
  places.take(ANN, ME)()
  places.take(BOB, START)()
  leaves[0]?.()
  leaves[0]?.()
  places.take(ANN, START)
  expect(() => places.take(ANN, START)).toThrow(expect.objectContaining({ code: 'rate_limited' }))
})

test('calls of one person of any kind are bounded', () => {
  const places = createCallPlaces()
  const leaves = Array.from({ length: CALL_LIMITS.any }, () => places.take(ANN, ME))
  expect(() => places.take(ANN, ME)).toThrow(/256 calls in progress/)
  leaves[0]?.()
  places.take(ANN, ME)
})
