import { expect, test, vi } from 'vitest'
import { type HostEvents } from '#proxy/contract'
import { type Tunnel } from '#proxy/contract'
import { aMe } from '../../testing/a-me.ts'
import { OWNER } from '../../testing/a-session.ts'
import { testEvents, withServices } from '../../testing/services.ts'
import { useAccount } from '../account/useAccount.ts'
import { useTunnels } from './useTunnels.ts'

test('tunnels are loaded and followed again after a sign-in that had expired', async () => {
  const tunnel = (id: string) => ({ id, openedAt: '2026-11-20T12:00:00.000Z' }) as Tunnel
  const list = vi.fn(() => Promise.resolve([tunnel('first')]))
  const reconnect = vi.fn()
  const on = (_event: keyof HostEvents) => () => undefined
  withServices(
    {
      me: () => Promise.resolve(aMe(OWNER)),
      login: () => Promise.resolve({ ...aMe(OWNER), token: null, originSecret: 'a secret' }),
    },
    testEvents(),
    { tunnel: { list } as never, sftp: { state: () => Promise.resolve(null) } as never, on, reconnect },
  )
  const account = useAccount()
  const tunnels = useTunnels()
  await account.begin()
  expect(list).not.toHaveBeenCalled()
  await tunnels.load()
  expect(tunnels.all.map(({ id }) => id)).toEqual(['first'])

  account.expire()
  list.mockResolvedValue([tunnel('second')])
  await account.signIn('mira@example.com', 'a password')
  await expect.poll(() => tunnels.all.map(({ id }) => id)).toEqual(['second'])
  expect(reconnect).toHaveBeenCalledOnce()
})
