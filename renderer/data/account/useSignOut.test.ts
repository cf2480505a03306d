// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest'
import { aMe } from '../../testing/a-me.ts'
import { OWNER } from '../../testing/a-session.ts'
import { withServices } from '../../testing/services.ts'
import { logError } from '../../ui/error-log.ts'
import { keyOf } from '../launch/forget-launch.ts'
import { useAccount } from './useAccount.ts'
import { useSignOut } from './useSignOut.ts'

afterEach(() => vi.unstubAllGlobals())

test('a sign-out loads the page again at the sign-in, after the records of the person are gone', async () => {
  const { localStorage: storage, sessionStorage: session } = globalThis
  const replaceState = vi.fn()
  vi.stubGlobal('history', { replaceState })
  let left: { readonly state: string; readonly stored: readonly string[]; readonly errors: string | null } | undefined
  const logout = vi.fn(() => Promise.resolve(undefined))
  withServices({ me: () => Promise.resolve(aMe(OWNER)), logout })
  const account = useAccount()
  const reload = () => {
    const stored = [keyOf(OWNER), 'berth.announcement', 'berth.resource-groups', 'berth.density']
    left = {
      state: account.state,
      stored: stored.filter(key => storage.getItem(key) !== null),
      errors: session.getItem('berth.errors'),
    }
  }
  vi.stubGlobal('location', { reload })
  await account.begin()
  for (const key of [keyOf(OWNER), 'berth.announcement', 'berth.resource-groups', 'berth.density'])
    storage.setItem(key, '1')
  logError(new Error('secret-folder cannot be read'))
  await useSignOut()()
  expect(logout).toHaveBeenCalledOnce()
  expect(replaceState).toHaveBeenCalledWith(null, '', '#/sign-in')
  expect(left).toEqual({ state: 'signed_out', stored: ['berth.density'], errors: '[]' })
})
