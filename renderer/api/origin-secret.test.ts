import { expect, test, vi } from 'vitest'
import { testSecret } from '../testing/services.ts'
import { fetchWithSecret } from './origin-secret.ts'

const browserWith = (secret: string) => new Map([['berth.origin-secret', secret]])

test('a page keeps its own secret until it adopts that of another tab', () => {
  const browser = browserWith('first')
  const [page, tab] = [testSecret(browser), testSecret(browser)]
  tab.store('second')
  tab.use('second')
  expect([page.get(), page.stored()]).toEqual(['first', 'second'])
  page.use('second')
  expect(page.get()).toBe('second')
  expect(testSecret(browser).get()).toBe('second')
})

test('signing out forgets the sign-in of this page, and leaves a newer one of another tab', () => {
  const browser = browserWith('first')
  const [page, tab] = [testSecret(browser), testSecret(browser)]
  tab.store('second')
  tab.use('second')
  page.forget()
  expect([page.get(), tab.stored()]).toEqual(['', 'second'])
  tab.forget()
  expect(tab.stored()).toBe('')
})

test('every request carries the secret of the page, unless it names another one or there is none', async () => {
  let secret = 'mine'
  const sent = vi.fn((..._: Parameters<typeof fetch>) => Promise.resolve(new Response()))
  const fetchHere = fetchWithSecret(sent, { get: () => secret })
  await fetchHere('/api/v1/me', { headers: { accept: 'application/json' } })
  await fetchHere('/api/v1/me', { headers: { 'x-berth-origin-secret': 'newer' } })
  secret = ''
  await fetchHere('/host/events')
  const headers = sent.mock.calls.map(([, init]) => Object.fromEntries(new Headers(init?.headers)))
  expect(headers).toEqual([
    { accept: 'application/json', 'x-berth-origin-secret': 'mine' },
    { 'x-berth-origin-secret': 'newer' },
    {},
  ])
})
