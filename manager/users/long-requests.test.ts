import { expect, test, vi } from 'vitest'
import { AppError } from '#manager/contract'
import { createLongRequests } from './long-requests.ts'

/** Announces ends of credentials, as sign-ins and keypairs do. */
function endings() {
  const listeners = new Set<(credential: string) => void>()
  return {
    onEnd(listener: (credential: string) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    tell: (credential: string) => listeners.forEach(listener => listener(credential)),
    watch: vi.fn(),
  }
}
const CALLER = { loginId: 'login', keypair: null }
const refused = () => Promise.reject(new AppError('forbidden'))
const away = () => Promise.reject(new AppError('unavailable'))

test('a request is cut once when a check refuses it, and not when a check cannot be made', async () => {
  const ends = endings()
  using longRequests = createLongRequests({ logins: ends, signers: ends, recheckMs: 5 })
  const check = vi.fn(away)
  const cut = vi.fn()
  using _watched = longRequests.watch(CALLER, check, cut)
  await expect.poll(() => check.mock.calls.length).toBeGreaterThan(2)
  expect(cut).not.toHaveBeenCalled()
  check.mockImplementation(refused)
  await expect.poll(() => cut.mock.calls).toMatchObject([[{ code: 'forbidden' }]])
  const { length } = check.mock.calls
  await new Promise(resolve => setTimeout(resolve, 30))
  expect(check.mock.calls).toHaveLength(length)
  expect(cut).toHaveBeenCalledOnce()
})

test('the end of a credential has its requests checked at once, also after a check that began before it', async () => {
  const ends = endings()
  using longRequests = createLongRequests({ logins: ends, signers: ends, recheckMs: 60_000 })
  const before = Promise.withResolvers<undefined>()
  const check = vi.fn<() => Promise<unknown>>(() => before.promise)
  const [cut, otherCut] = [vi.fn(), vi.fn()]
  using _watched = longRequests.watch(CALLER, check, cut)
  using _other = longRequests.watch({ loginId: null, keypair: 'AKIA' }, refused, otherCut)
  expect(ends.watch.mock.calls).toEqual([['login'], ['AKIA']])
  ends.tell('login')
  check.mockImplementation(refused)
  ends.tell('login')
  before.resolve(undefined)
  await expect.poll(() => cut.mock.calls.length).toBe(1)
  expect(otherCut).not.toHaveBeenCalled()
})

test('a request that is over is neither checked nor cut', async () => {
  const ends = endings()
  using longRequests = createLongRequests({ logins: ends, signers: ends, recheckMs: 5 })
  const running = Promise.withResolvers<undefined>()
  const check = vi.fn(() => running.promise)
  const cut = vi.fn()
  const watched = longRequests.watch(CALLER, check, cut)
  await expect.poll(() => check.mock.calls.length).toBe(1)
  watched[Symbol.dispose]()
  running.reject(new AppError('forbidden'))
  ends.tell('login')
  await new Promise(resolve => setTimeout(resolve, 30))
  expect(check).toHaveBeenCalledOnce()
  expect(cut).not.toHaveBeenCalled()
})
