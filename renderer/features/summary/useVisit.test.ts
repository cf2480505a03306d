// @vitest-environment happy-dom
import { expect, onTestFinished, test } from 'vitest'
import { defineComponent, h, render } from 'vue'
import { AppError, type UserId, type ConsoleVisit } from '#manager/contract'
import { aMe } from '../../testing/a-me.ts'
import { withServices } from '../../testing/services.ts'
import { useAccount } from '../../data/account/useAccount.ts'
import { useVisit } from './useVisit.ts'

const MIRA = '01990000-0000-7000-8000-000000000001' as UserId

/** The page, opened by a signed-in user, with a manager that answers with `server.answer`. */
function openPage(answer: () => Promise<ConsoleVisit>) {
  const server = { answer, asked: 0 }
  const { app, pinia } = withServices({
    recordVisit: () => {
      server.asked += 1
      return server.answer()
    },
    logout: () => Promise.resolve(),
  })
  const account = app.runWithContext(() => useAccount(pinia))
  account.adopt(aMe(MIRA), '')
  const found: { visit?: ReturnType<typeof useVisit> } = {}
  const page = h(defineComponent({ setup: () => ((found.visit = useVisit()), () => null) }))
  page.appContext = app._context
  const place = document.createElement('div')
  render(page, place)
  const leave = () => render(null, place)
  onTestFinished(leave)
  if (!found.visit) throw new Error('the page did not open')
  return { server, account, visit: found.visit, leave }
}

test('the manager says when the visit before ended; it hears when the page is opened, hidden, shown and left', async () => {
  const { server, visit, leave } = openPage(() => Promise.resolve({ since: '1970-01-01T00:01:00.000Z' }))
  expect([visit.isKnown.value, visit.since.value]).toEqual([false, undefined])
  await expect.poll(() => visit.isKnown.value).toBe(true)
  expect(visit.since.value).toBe(60_000)
  document.dispatchEvent(new Event('visibilitychange'))
  expect(server.asked).toBe(2)
  leave()
  expect(server.asked).toBe(3)
  document.dispatchEvent(new Event('visibilitychange'))
  expect(server.asked).toBe(3)
})

test('a first visit has nothing before it', async () => {
  const { visit } = openPage(() => Promise.resolve({ since: null }))
  await expect.poll(() => visit.isKnown.value).toBe(true)
  expect(visit.since.value).toBeNull()
})

test('a failure is known, and tried again', async () => {
  const { server, visit } = openPage(() => Promise.reject(new AppError('unavailable')))
  await expect.poll(() => visit.isKnown.value).toBe(true)
  expect(visit.error.value).toMatchObject({ code: 'unavailable' })
  server.answer = () => Promise.resolve({ since: null })
  await visit.load()
  expect([visit.error.value, visit.since.value]).toEqual([null, null])
})

test('somebody who signs out is not asked for any more', async () => {
  const { server, account, leave } = openPage(() => Promise.resolve({ since: null }))
  await account.signOut()
  leave()
  expect(server.asked).toBe(1)
})
