import { disposePinia, type Pinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AppError, type ApiClient, type Me, type UserId } from '#manager/contract'
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
  const { events, pinia, secret } = withServices({ me: () => Promise.resolve(aMe(OWNER)), ...answers })
  pages.push(pinia)
  const account = useAccount()
  await account.begin()
  expect(account.user?.id).toBe(OWNER)
  return { account, events, secret }
}

const anotherTab = () => openSignInChannel({ onSignIn: () => undefined, onSignOut: () => undefined })
const newSignIn = (userId: UserId) => ({ userId, originSecret: 'of the new sign-in' })
const signInOf = (id: UserId) => ({ ...aMe(id), token: null, originSecret: `secret of ${id}` })
const loginAs = (id: UserId) => ({ login: () => Promise.resolve(signInOf(id)) })

function expectUntouched({ account, secret }: Pick<Awaited<ReturnType<typeof signedIn>>, 'account' | 'secret'>) {
  expect(reload).toHaveBeenCalledOnce()
  expect(account.user?.id ?? OWNER).toBe(OWNER)
  expect(secret.get()).not.toContain(OTHER)
}

test('a sign-in link of another person reloads the page', async () => {
  const page = await signedIn({ loginWithTicket: () => Promise.resolve(signInOf(OTHER)) })
  await page.account.signInWithTicket('ticket')
  expectUntouched(page)
})

test('a page whose sign-in ended is not continued by another person who signs in in another tab', async () => {
  const me = vi.fn(() => Promise.resolve(aMe(OWNER)))
  const page = await signedIn({ me })
  const { account, events } = page
  events.setState('signed_out')
  await expect.poll(() => account.state).toBe('expired')
  me.mockResolvedValue(aMe(OTHER))
  events.setState('live')
  await expect.poll(() => reload).toHaveBeenCalled()
  expectUntouched(page)
  expect(account.state).toBe('expired')
})

test('after a sign-out another person does not continue the page, the same person does', async () => {
  const page = await signedIn({ logout: () => Promise.resolve(), ...loginAs(OTHER) })
  await page.account.signOut()
  await page.account.signIn('other@example.com', 'a password')
  expectUntouched(page)

  reload.mockClear()
  const again = await signedIn({ logout: () => Promise.resolve(), ...loginAs(OWNER) })
  await again.account.signOut()
  await again.account.signIn('mira@example.com', 'a password')
  expect(reload).not.toHaveBeenCalled()
  expect(again.account.state).toBe('signed_in')
})

test("a page learns that another person signed in in another tab before it reads that person's data", async () => {
  await signedIn()
  using tab = anotherTab()
  tab.announce(newSignIn(OWNER))
  tab.announce(newSignIn(OTHER))
  await expect.poll(() => reload).toHaveBeenCalledOnce()
})

test('a page whose sign-in ended continues when the same person signs in in another tab, with the new secret', async () => {
  const me = vi.fn(() => Promise.resolve(aMe(OWNER)))
  const { account, secret } = await signedIn({ me })
  account.expire()
  using tab = anotherTab()
  tab.announce(newSignIn(OWNER))
  await expect.poll(() => account.state).toBe('signed_in')
  expect(secret.get()).toBe('of the new sign-in')
  expect(me).toHaveBeenLastCalledWith({ headers: { 'x-berth-origin-secret': 'of the new sign-in' } })
})

test('a deliberate sign-out reloads every other page, and leaves no secret', async () => {
  const first = await signedIn()
  first.secret.store('of the first page')
  first.secret.use('of the first page')
  const tab = anotherTab()
  tab.announceSignOut()
  await expect.poll(() => reload).toHaveBeenCalledOnce()
  tab[Symbol.dispose]()

  const heard = vi.fn()
  using _other = openSignInChannel({ onSignIn: () => undefined, onSignOut: heard })
  const { account, secret } = await signedIn({ logout: () => Promise.resolve(), ...loginAs(OWNER) })
  await account.signIn('mira@example.com', 'a password')
  expect(secret.stored()).toBe(`secret of ${OWNER}`)
  await account.signOut()
  expect([secret.get(), secret.stored()]).toEqual(['', ''])
  await expect.poll(() => heard).toHaveBeenCalledOnce()
})

test('a page without a sign-in continues when somebody signs in in another tab', async () => {
  const me = vi.fn(() => Promise.reject<Me>(new AppError('not_signed_in')))
  const { pinia, secret } = withServices({ me })
  pages.push(pinia)
  const account = useAccount()
  await account.begin()
  expect(account.state).toBe('signed_out')
  me.mockResolvedValue(aMe(OWNER))
  using tab = anotherTab()
  tab.announce(newSignIn(OWNER))
  await expect.poll(() => account.state).toBe('signed_in')
  expect(secret.get()).toBe('of the new sign-in')
  expect(reload).not.toHaveBeenCalled()
})

test('a signed-out page continues with the same person, and reloads for another one', async () => {
  const { account } = await signedIn({ logout: () => Promise.resolve() })
  await account.signOut()
  using tab = anotherTab()
  tab.announce(newSignIn(OWNER))
  await expect.poll(() => account.state).toBe('signed_in')
  await account.signOut()
  tab.announce(newSignIn(OTHER))
  await expect.poll(() => reload).toHaveBeenCalledOnce()
})

test('a refused sign-in changes nothing', async () => {
  const { account } = await signedIn({ loginWithTicket: () => Promise.reject(new AppError('not_signed_in')) })
  await expect(account.signInWithTicket('old')).rejects.toMatchObject({ code: 'not_signed_in' })
  expect(account.state).toBe('signed_in')
  expect(reload).not.toHaveBeenCalled()
})
