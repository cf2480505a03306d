import { describe, expect, test } from 'vitest'
import { DEFAULT_TIMINGS } from './timings.ts'
import { type MortalKernel } from '../store/sessions/occupants.ts'
import { latestEndOf, longestHold } from './latest-end.ts'
import { agentId, IMAGE } from './plan/plan-fixtures.ts'

const MINUTE = 60_000
const NOW = 100 * MINUTE
const at = (minutes: number) => new Date(minutes * MINUTE)
const { terminatingMs, pullingMs } = DEFAULT_TIMINGS

/** A kernel placed in minute 100, before its agent is asked to start it. */
const scheduled: MortalKernel = {
  agentId: agentId(1),
  slots: {},
  devices: [],
  imageDigest: IMAGE,
  maxLifetimeSeconds: 600,
  expiresAt: null,
  startBy: null,
  statusAt: at(100),
  now: at(100),
}
const held = new Set([IMAGE])

describe("the latest time at which a kernel's resources become free", () => {
  test('a running session: its lifetime, and the time that ending takes', () => {
    expect(latestEndOf({ ...scheduled, startBy: at(99), expiresAt: at(110) }, held)).toBe(110 * MINUTE + terminatingMs)
  })

  test('a starting session: the time at which its agent would give up, and then the same', () => {
    expect(latestEndOf({ ...scheduled, startBy: at(102) }, held)).toBe(112 * MINUTE + terminatingMs)
  })

  test('a session without a request yet: all that requests and the start may take, and a pull if needed', () => {
    const { scheduledMs, preparingMs, replyMarginMs } = DEFAULT_TIMINGS
    const end = 110 * MINUTE + scheduledMs + preparingMs + replyMarginMs + terminatingMs
    expect(latestEndOf(scheduled, held)).toBe(end)
    expect(latestEndOf(scheduled)).toBe(end + pullingMs)
  })

  test('the time never becomes later than the plan that placed the session said, through all statuses', () => {
    const hold = longestHold(scheduled.maxLifetimeSeconds)
    if (!hold) throw new Error('it has a lifetime')
    const { scheduledMs, preparingMs, replyMarginMs } = DEFAULT_TIMINGS
    const startBy = new Date(NOW + scheduledMs + preparingMs + replyMarginMs)
    const expiresAt = new Date(startBy.getTime() + 600_000)
    const ends = [scheduled, { ...scheduled, startBy }, { ...scheduled, startBy, expiresAt }]
    const told = [NOW + hold.imageThereMs, ...ends.map(kernel => latestEndOf(kernel, held) ?? Infinity)]
    expect(told).toEqual(told.toSorted((a, b) => b - a))
    expect(hold.imagePulledMs - hold.imageThereMs).toBe(pullingMs)
  })

  test('the time is unknown for a kernel that should be gone and is not', () => {
    expect(latestEndOf({ ...scheduled, expiresAt: at(99), now: new Date(NOW - 1) }, held)).toBe(NOW)
    expect(latestEndOf({ ...scheduled, expiresAt: at(99) }, held)).toBeNull()
  })
})

test('the time is unknown for a kernel without a maximum lifetime', () => {
  expect(longestHold(null)).toBeNull()
})
