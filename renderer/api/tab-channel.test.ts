import { afterEach, expect, test, vi } from 'vitest'
import { watchFront } from '../features/notifications/in-front.ts'
import { openTabChannel } from './tab-channel.ts'

afterEach(() => vi.unstubAllGlobals())

/** Browsers give a page that plain http brought from another computer neither random UUIDs nor Web Locks. */
function asInsecurePage() {
  vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) })
}

test('on a page loaded by plain http from another computer, each tab keeps a connection of its own', async () => {
  asInsecurePage()
  const onLead = vi.fn()
  const unused = () => undefined
  const channel = openTabChannel({
    onLead,
    onEvent: unused,
    onConnection: unused,
    onPeersChanged: unused,
    onReconnect: unused,
    current: () => ({ state: 'connecting' }) as never,
    locks: undefined,
  })
  await vi.waitFor(() => expect(onLead).toHaveBeenCalledOnce())
  channel.close()
})

test('tabs of such a page ask each other which one is in front', async () => {
  asInsecurePage()
  const here = watchFront(() => true, 'berth-front-test')
  const behind = watchFront(() => false, 'berth-front-test')
  expect(await behind.isInFront()).toBe(true)
  here.close()
  behind.close()
})
