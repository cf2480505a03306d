import { disposePinia, type Pinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AppError, type ApiClient, type UserId } from '#manager/contract'
import { csrfToken } from '../../api/csrf.ts'
import { openSignInChannel } from '../../api/sign-in-channel.ts'
import { aMe } from '../../testing/a-me.ts'
import { OWNER } from '../../testing/a-session.ts'
import { withServices } from '../../testing/services.ts'
import { useAccount } from './useAccount.ts'

const OTHER = '01990000-0000-7000-8000-000000000002' as UserId
const reload = vi.fn()
const pages: Pinia[] = []
beforeEach(() => void vi.stubGlobal('location', { reload }))
afterEach(() => {
  for (const page of pages.splice(0)) disposePinia(page)
  vi.unstubAllGlobals()
  reload.mockClear()
})

/** A page on which the owner of the sessions is signed in. */
async function signedIn(answers: Partial<ApiClient> = {}) {
  const { events, pinia } = withServices({ me: () => Promise.resolve(aMe(OWNER)), ...answers })
  pages.push(pinia)
  const account = useAccount()
  await account.begin()
  expect(account.user?.id).toBe(OWNER)
  return { account, events }
}

const loginAs = (id: UserId) => ({ login: () => Promise.resolve({ ...aMe(id), token: null }) })

function expectUntouched(account: ReturnType<typeof useAccount>) {
  expect(reload).toHaveBeenCalledOnce()
  expect(account.user?.id ?? OWNER).toBe(OWNER)
  expect(csrfToken.get()).not.toContain(OTHER)
}

test('a sign-in link of another person begins the page anew', async () => {
  const { account } = await signedIn({ loginWithTicket: () => Promise.resolve({ ...aMe(OTHER), token: null }) })
  await account.signInWithTicket('ticket')
  expectUntouched(account)
})

test('another person, signed in meanwhile in another tab, does not take over a page whose sign-in ended', async () => {
  const me = vi.fn(() => Promise.resolve(aMe(OWNER)))
  const { account, events } = await signedIn({ me })
  events.setState('signed_out')
  await vi.waitFor(() => expect(account.state).toBe('expired'))
  me.mockResolvedValue(aMe(OTHER))
  events.setState('live')
  await vi.waitFor(() => expect(reload).toHaveBeenCalled())
  expectUntouched(account)
  expect(account.state).toBe('expired')
})

test('nor one who signs in after the first has signed out, while the same person goes on', async () => {
  const { account } = await signedIn({ logout: () => Promise.resolve(), ...loginAs(OTHER) })
  await account.signOut()
  await account.signIn('other@example.com', 'a password')
  expectUntouched(account)

  reload.mockClear()
  const again = await signedIn({ logout: () => Promise.resolve(), ...loginAs(OWNER) })
  await again.account.signOut()
  await again.account.signIn('mira@example.com', 'a password')
  expect(reload).not.toHaveBeenCalled()
  expect(again.account.state).toBe('signed_in')
})

test('a page hears that another person signed in in another tab, before it reads what is theirs', async () => {
  await signedIn()
  using tab = openSignInChannel(() => undefined)
  tab.announce(OWNER)
  tab.announce(OTHER)
  await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce())
})

test('a page whose sign-in ended goes on when the same person signs in in another tab, with the new token', async () => {
  const me = vi.fn(() => Promise.resolve(aMe(OWNER)))
  const { account } = await signedIn({ me })
  account.expire()
  me.mockResolvedValue(aMe(OWNER, 'of the new sign-in'))
  using tab = openSignInChannel(() => undefined)
  tab.announce(OWNER)
  await vi.waitFor(() => expect(account.state).toBe('signed_in'))
  expect(csrfToken.get()).toBe('of the new sign-in')
})

test('a page that was signed out stays so', async () => {
  const me = vi.fn(() => Promise.resolve(aMe(OWNER)))
  const { account } = await signedIn({ me, logout: () => Promise.resolve() })
  await account.signOut()
  const heard = vi.fn()
  using tab = openSignInChannel(() => undefined)
  using _last = openSignInChannel(heard)
  tab.announce(OWNER)
  await vi.waitFor(() => expect(heard).toHaveBeenCalledOnce())
  expect(account.state).toBe('signed_out')
  expect(me).toHaveBeenCalledOnce()
})

test('a sign-in that is refused changes nothing', async () => {
  const { account } = await signedIn({ loginWithTicket: () => Promise.reject(new AppError('not_signed_in')) })
  await expect(account.signInWithTicket('old')).rejects.toMatchObject({ code: 'not_signed_in' })
  expect(account.state).toBe('signed_in')
  expect(reload).not.toHaveBeenCalled()
})
