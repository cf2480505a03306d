import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AppError, type Grant, type SessionId } from '#manager/contract'
import { createBackoff } from './backoff.ts'
import { createGrantKeeper } from './grant-keeper.ts'
import { verdictOf } from './verdict.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const sessionId = '01900000-0000-7000-8000-000000000001' as SessionId

function aGrant(text: string, lifeMs = 300_000): Grant {
  const expiresAt = new Date(Date.now() + lifeMs).toISOString()
  return { grant: text, sessionId, app: { name: 'x', title: 'X', protocol: 'tcp', path: '/' }, expiresAt, inject: null }
}

function aKeeper() {
  const api = {
    createGrant: vi.fn(() => Promise.resolve(aGrant('created'))),
    renewGrant: vi.fn(() => Promise.resolve(aGrant('renewed'))),
  }
  const [onRenewed, onRenewalFailed] = [vi.fn(), vi.fn()]
  const keeper = createGrantKeeper({ api, sessionId, app: 'x', onRenewed, onRenewalFailed, now: () => Date.now() })
  return { api, keeper, onRenewed, onRenewalFailed }
}

test('concurrent callers share one request, later ones need none', async () => {
  const { api, keeper } = aKeeper()
  await Promise.all([keeper.current(), keeper.current()])
  await keeper.current()
  expect(api.createGrant).toHaveBeenCalledTimes(1)
})

test('a grant is renewed by itself, well before it expires', async () => {
  const { api, keeper } = aKeeper()
  await keeper.current()
  await vi.advanceTimersByTimeAsync(220_000)
  expect(api.renewGrant).toHaveBeenCalledTimes(1)
  expect((await keeper.current()).grant).toBe('renewed')
  expect(api.createGrant).toHaveBeenCalledTimes(1)
})

test('a manager that forgot the grant gets a request for another one', async () => {
  const { api, keeper } = aKeeper()
  await keeper.current()
  api.renewGrant.mockRejectedValueOnce(new AppError('grant_invalid'))
  keeper.renewNow()
  await vi.advanceTimersByTimeAsync(0)
  expect(api.createGrant).toHaveBeenCalledTimes(2)
})

test('a failed renewal is reported and repeated, and the current grant stays valid until it expires', async () => {
  const { api, keeper, onRenewed, onRenewalFailed } = aKeeper()
  await keeper.current()
  api.renewGrant.mockRejectedValueOnce(new AppError('unavailable'))
  keeper.renewNow()
  await vi.advanceTimersByTimeAsync(0)
  expect(onRenewalFailed).toHaveBeenCalledTimes(1)
  expect((await keeper.current()).grant).toBe('created')
  await vi.advanceTimersByTimeAsync(2_000)
  expect(onRenewed).toHaveBeenCalledTimes(1)
})

test('wrong clocks make a grant neither immortal nor useless', async () => {
  const { api, keeper } = aKeeper()
  api.createGrant.mockResolvedValueOnce(aGrant('old clock', -600_000))
  expect((await keeper.current()).grant).toBe('old clock')
  expect((await keeper.current()).grant).toBe('old clock')
  expect(api.createGrant).toHaveBeenCalledTimes(1)
})

test('a disposed keeper sends no more requests', async () => {
  const { api, keeper } = aKeeper()
  await keeper.current()
  keeper[Symbol.dispose]()
  await vi.advanceTimersByTimeAsync(600_000)
  expect(api.renewGrant).not.toHaveBeenCalled()
})

test('all waiting callers share one delay; delays grow to a bound and restart after a success', async () => {
  const backoff = createBackoff({ minMs: 100, maxMs: 400 })
  const { signal } = new AbortController()
  const lengths: number[] = []
  for (let i = 0; i < 4; i++) {
    const start = Date.now()
    const waits = [backoff.wait(signal), backoff.wait(signal)]
    await vi.advanceTimersToNextTimerAsync()
    await Promise.all(waits)
    lengths.push(Date.now() - start)
  }
  expect(lengths).toEqual([100, 200, 400, 400])
  backoff.reset()
  const waiting = backoff.wait(signal)
  backoff.wake()
  await waiting
})

test.each([
  [new AppError('unavailable'), 'wait'],
  [new AppError('agent_unreachable'), 'wait'],
  [new AppError('not_signed_in'), 'sign_in'],
  [new AppError('grant_invalid'), 'new_grant'],
  [new AppError('session_not_running'), 'ended'],
  [new AppError('app_failed'), 'fail'],
  [Object.assign(new Error('x'), { code: 'ECONNREFUSED', syscall: 'connect' }), 'wait'],
  [new TypeError('a bug'), 'fail'],
])('after %s the verdict is %s', (error, verdict) => {
  expect(verdictOf(error)).toBe(verdict)
})
