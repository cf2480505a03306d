// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Announcement, AppError, NO_ANNOUNCEMENT } from '#manager/contract'
import { withServices } from '../../testing/services.ts'
import { useAnnouncement } from './useAnnouncement.ts'

const ABOUT = { ...NO_ANNOUNCEMENT, id: 'a', text: 'Down on *Saturday*' }
beforeEach(() => {
  vi.useFakeTimers()
  localStorage.clear()
})
afterEach(() => vi.useRealTimers())

/** A manager that answers with `server.answer`, and a page that has started checking. */
async function start(first: Announcement, failing = false) {
  const server = { answer: first, asked: 0, dismissed: [] as string[] }
  const { app, pinia, events } = withServices({
    getAnnouncement: () => {
      server.asked += 1
      return Promise.resolve(server.answer)
    },
    dismissAnnouncement: ({ body: { id } }) => {
      if (failing) return Promise.reject(new AppError('internal'))
      server.dismissed.push(id)
      return Promise.resolve()
    },
  })
  const store = app.runWithContext(() => useAnnouncement(pinia))
  void store.begin()
  await vi.advanceTimersByTimeAsync(0)
  return { server, events, store }
}
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()

test('an announcement appears and disappears at the times of its period, without a hint', async () => {
  const { server, store } = await start({ ...NO_ANNOUNCEMENT, changesAt: inMinutes(30) })
  expect(store.shown).toBeNull()
  await vi.advanceTimersByTimeAsync(29 * 60_000)
  expect(server.asked).toBe(1)
  server.answer = { ...ABOUT, until: inMinutes(60), changesAt: inMinutes(60) }
  await vi.advanceTimersByTimeAsync(2 * 60_000)
  expect(store.shown?.text).toBe('Down on *Saturday*')
  server.answer = NO_ANNOUNCEMENT
  await vi.advanceTimersByTimeAsync(60 * 60_000)
  expect(store.shown).toBeNull()
  await vi.advanceTimersByTimeAsync(48 * 60 * 60_000)
  expect(server.asked).toBe(3)
})

test('a clock of this computer that is ahead does not make the page ask all the time', async () => {
  const { server } = await start({ ...NO_ANNOUNCEMENT, changesAt: inMinutes(-10) })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(server.asked).toBeLessThanOrEqual(13)
})

test('a dismissed announcement is hidden at once, and a changed one is shown again', async () => {
  const { server, events, store } = await start(ABOUT)
  if (!store.shown) throw new Error('nothing is shown')
  await store.dismiss(store.shown)
  expect(store.shown).toBeNull()
  expect(server.dismissed).toEqual(['a'])
  server.answer = { ...ABOUT, id: 'b', text: 'Down on Sunday' }
  events.hint({ topic: 'announcement', id: 'all', version: 2 })
  await vi.advanceTimersByTimeAsync(1_000)
  expect(store.shown.text).toBe('Down on Sunday')
})

test('an announcement that could not be dismissed is shown again', async () => {
  const { store } = await start(ABOUT, true)
  if (!store.shown) throw new Error('nothing is shown')
  await expect(store.dismiss(store.shown)).rejects.toMatchObject({ code: 'internal' })
  expect(store.shown.text).toBe('Down on *Saturday*')
})

test('the next page shows the announcement before the manager has answered, unless it was dismissed', async () => {
  const { store } = await start({ ...ABOUT, level: 'warning' })
  const silent = () => {
    const { app, pinia } = withServices({ getAnnouncement: () => new Promise(() => undefined) })
    const next = app.runWithContext(() => useAnnouncement(pinia))
    void next.begin()
    return next.shown?.text
  }
  expect(silent()).toBe('Down on *Saturday*')
  if (store.shown) await store.dismiss(store.shown)
  expect(silent()).toBeUndefined()
  localStorage.setItem('berth.announcement', '{"id":1,"text":"x","level":"warning"}')
  expect(silent()).toBeUndefined()
})
