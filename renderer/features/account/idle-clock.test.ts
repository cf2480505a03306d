import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createIdleClock, type IdleClock } from './idle-clock.ts'

const MINUTE = 60_000
beforeEach(() => vi.useFakeTimers({ now: Date.UTC(2026, 10, 2) }))
afterEach(() => vi.useRealTimers())

/** A clock of ten minutes with a warning of one minute, and its events. */
function aClock(change: { storage?: Map<string, string>; isBusy?: () => boolean } = {}) {
  const { storage = new Map<string, string>(), isBusy = () => false } = change
  const said: string[] = []
  const clock: IdleClock = createIdleClock({
    limitMs: 10 * MINUTE,
    warnMs: MINUTE,
    storage: { getItem: key => storage.get(key) ?? null, setItem: (key, value) => storage.set(key, value) },
    isBusy,
    onWarn: at => said.push(`warned ${(at.getTime() - Date.now()) / 1000}`),
    onUse: () => said.push('used'),
    onOver: () => said.push('over'),
  })
  return { clock, said, storage }
}

test('the clock warns a minute before, and is over without a use', () => {
  const { said } = aClock()
  vi.advanceTimersByTime(9 * MINUTE - 1)
  expect(said).toEqual([])
  vi.advanceTimersByTime(1)
  expect(said).toEqual(['warned 60'])
  vi.advanceTimersByTime(MINUTE)
  expect(said).toEqual(['warned 60', 'over'])
  vi.advanceTimersByTime(60 * MINUTE)
  expect(said).toHaveLength(2)
})

test('a use begins the time anew, also after the warning, and in another tab', () => {
  const { clock, said, storage } = aClock()
  vi.advanceTimersByTime(8 * MINUTE)
  clock.use()
  vi.advanceTimersByTime(8 * MINUTE)
  expect(said).toEqual([])
  vi.advanceTimersByTime(MINUTE)
  clock.use()
  expect(said).toEqual(['warned 60', 'used'])
  vi.advanceTimersByTime(9 * MINUTE)
  aClock({ storage }).clock.stop()
  clock.check()
  expect(said).toEqual(['warned 60', 'used', 'warned 60', 'used'])
})

test('a running upload counts as a use; the time in which the computer sleeps does not', () => {
  let busy = true
  const { clock, said } = aClock({ isBusy: () => busy })
  vi.advanceTimersByTime(60 * MINUTE)
  expect(said).toEqual([])
  busy = false
  vi.setSystemTime(Date.now() + 11 * MINUTE)
  clock.check()
  expect(said).toEqual(['over'])
  // A sign-in that is restored without a use ends again; one after a use does not.
  clock.check()
  expect(said).toEqual(['over', 'over'])
  clock.use()
  clock.check()
  expect(said).toHaveLength(2)
})
