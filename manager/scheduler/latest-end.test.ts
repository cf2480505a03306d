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
  test('once its session runs: with its lifetime, and the time that an end takes', () => {
    expect(latestEndOf({ ...scheduled, startBy: at(99), expiresAt: at(110) }, held)).toBe(110 * MINUTE + terminatingMs)
  })

  test('while it starts: when its agent would give up, and all that after it', () => {
    expect(latestEndOf({ ...scheduled, startBy: at(102) }, held)).toBe(112 * MINUTE + terminatingMs)
  })

  test('before anybody was asked: with all that asking and starting may take, and a pull where one is needed', () => {
    const { scheduledMs, preparingMs, replyMarginMs } = DEFAULT_TIMINGS
    const end = 110 * MINUTE + scheduledMs + preparingMs + replyMarginMs + terminatingMs
    expect(latestEndOf(scheduled, held)).toBe(end)
    expect(latestEndOf(scheduled)).toBe(end + pullingMs)
  })

  test('never later than the plan that placed it said, from state to state', () => {
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

  test('nobody knows when, where it should be gone and is not', () => {
    expect(latestEndOf({ ...scheduled, expiresAt: at(99), now: new Date(NOW - 1) }, held)).toBe(NOW)
    expect(latestEndOf({ ...scheduled, expiresAt: at(99) }, held)).toBeNull()
  })
})

test('a kernel without a maximum lifetime has no known end', () => {
  expect(longestHold(null)).toBeNull()
})
