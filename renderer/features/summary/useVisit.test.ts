// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { defineComponent, h, render } from 'vue'
import { type UserId } from '#manager/contract'
import { aMe } from '../../testing/a-me.ts'
import { withServices } from '../../testing/services.ts'
import { useAccount } from '../account/useAccount.ts'
import { useVisit } from './useVisit.ts'

const MIRA = '01990000-0000-7000-8000-000000000001' as UserId
const JONAS = '01990000-0000-7000-8000-000000000002' as UserId
const HOUR_MS = 3600_000

beforeEach(() => {
  localStorage.clear()
  vi.useFakeTimers({ now: 0 })
})
afterEach(() => vi.useRealTimers())

/** Opens the summary in this browser as a person, looks at it for a minute, and leaves. @returns the end of the visit before */
function visitBy(id: UserId): number | null {
  const { app, pinia } = withServices({})
  const account = app.runWithContext(() => useAccount(pinia))
  account.adopt(aMe(id), '')
  let since: number | null = null
  const page = h(defineComponent({ setup: () => ((since = useVisit().value.since), () => null) }))
  page.appContext = app._context
  const place = document.createElement('div')
  render(page, place)
  vi.advanceTimersByTime(60_000)
  render(null, place)
  return since
}

test('each account has its own last visit, also when several people use one browser', () => {
  expect(visitBy(MIRA)).toBeNull()
  vi.setSystemTime(2 * HOUR_MS)
  expect(visitBy(JONAS)).toBeNull()
  vi.setSystemTime(5 * HOUR_MS)
  expect(visitBy(MIRA)).toBe(60_000)
  expect(visitBy(JONAS)).toBe(2 * HOUR_MS + 60_000)
})
