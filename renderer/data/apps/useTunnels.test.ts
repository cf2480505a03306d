// @vitest-environment happy-dom
import { expect, test, vi } from 'vitest'
import { type SessionId } from '#manager/contract'
import { type FolderKit, type FolderPort, type HostEvents, type Tunnel } from '#proxy/contract'
import { aMe } from '../../testing/a-me.ts'
import { OWNER } from '../../testing/a-session.ts'
import { testEvents, withServices } from '../../testing/services.ts'
import { useAccount } from '../account/useAccount.ts'
import { useTunnels } from './useTunnels.ts'

const SESSION = '01990000-0000-7000-8000-00000000000a' as SessionId
const aTunnel = (id: string) => ({ id, sessionId: SESSION, openedAt: '2026-11-20T12:00:00.000Z' }) as Tunnel

/** The local proxy, which all tabs of a browser share. */
function aProxy(...ids: string[]) {
  const proxy = {
    tunnels: ids.map(aTunnel),
    port: null as FolderPort | null,
    list: vi.fn(() => Promise.resolve([...proxy.tunnels])),
    open(id: string) {
      proxy.tunnels.push(aTunnel(id))
      return aTunnel(id)
    },
    close(id: string) {
      proxy.tunnels = proxy.tunnels.filter(tunnel => tunnel.id !== id)
      return Promise.resolve()
    },
  }
  return proxy
}

/** A tab of a browser that is signed in, and does not follow the events of the proxy. */
async function openTab(proxy: ReturnType<typeof aProxy>) {
  const { app, pinia, events } = withServices({ me: () => Promise.resolve(aMe(OWNER)) }, testEvents(), {
    isDesktop: false,
    tunnel: { list: proxy.list, close: proxy.close } as never,
    sftp: {
      state: () => Promise.resolve(proxy.port),
      open: () => Promise.resolve({ port: (proxy.port = { port: 2222 } as FolderPort) } as FolderKit),
      close: () => Promise.resolve(void (proxy.port = null)),
    } as never,
  })
  const account = app.runWithContext(() => useAccount(pinia))
  const tunnels = app.runWithContext(() => useTunnels(pinia))
  await account.begin()
  await tunnels.check()
  return { events, tunnels }
}

function show(isHidden: boolean) {
  vi.spyOn(document, 'hidden', 'get').mockReturnValue(isHidden)
  document.dispatchEvent(new Event('visibilitychange'))
}

test('tunnels are loaded and followed again after a sign-in that had expired', async () => {
  const list = vi.fn(() => Promise.resolve([aTunnel('first')]))
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
  list.mockResolvedValue([aTunnel('second')])
  await account.signIn('mira@example.com', 'a password')
  await expect.poll(() => tunnels.all.map(({ id }) => id)).toEqual(['second'])
  expect(reconnect).toHaveBeenCalledOnce()
})

test('the count of a tab follows what another tab opens and closes, the port of the folders too', async () => {
  const proxy = aProxy()
  const { tunnels } = await openTab(proxy)
  const other = await openTab(proxy)
  other.tunnels.put(proxy.open('theirs'))
  await expect.poll(() => tunnels.count).toBe(1)
  await other.tunnels.openFolderPort({ onPortTaken: 'fail' })
  expect(other.tunnels.count).toBe(2)
  await expect.poll(() => tunnels.count).toBe(2)
  await other.tunnels.close('theirs' as Tunnel['id'])
  await other.tunnels.closeFolderPort()
  await expect.poll(() => tunnels.count).toBe(0)
})

test('a tab asks again when it is shown, and not while it is hidden', async () => {
  const proxy = aProxy('first')
  const { tunnels } = await openTab(proxy)
  const other = await openTab(proxy)
  show(true)
  other.tunnels.put(proxy.open('second'))
  await new Promise(resolve => setTimeout(resolve, 700))
  expect(proxy.list).toHaveBeenCalledTimes(2)
  show(false)
  await expect.poll(() => tunnels.count).toBe(2)
})

test('the end of a session takes its tunnels off the count', async () => {
  const proxy = aProxy('first')
  const { tunnels, events } = await openTab(proxy)
  await proxy.close('first')
  events.hint({ topic: 'session', id: 'another', version: 2 })
  events.hint({ topic: 'session', id: SESSION, version: 2 })
  await expect.poll(() => tunnels.count).toBe(0)
  expect(proxy.list).toHaveBeenCalledTimes(2)
})

test('an answer from before a tunnel was opened here does not take it off the count', async () => {
  const proxy = aProxy()
  const { tunnels } = await openTab(proxy)
  const old = Promise.withResolvers<Tunnel[]>()
  proxy.list.mockReturnValueOnce(old.promise)
  const asking = tunnels.check()
  tunnels.put(proxy.open('mine'))
  old.resolve([])
  await asking
  expect(tunnels.count).toBe(1)
})
