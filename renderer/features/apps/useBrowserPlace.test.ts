import { expect, test, vi } from 'vitest'
import { type HostInfo } from '#proxy/contract'
import { testEvents, withServices } from '../../testing/services.ts'
import { placeOf, useBrowserPlace } from './useBrowserPlace.ts'

test('four places, from what the proxy tells of this page', () => {
  expect(placeOf({ kind: 'electron' })).toBe('desktop')
  expect(placeOf({ kind: 'local', isUnproven: false })).toBe('here')
  expect(placeOf({ kind: 'remote', isUnproven: true })).toBe('unproved')
  expect(placeOf({ kind: 'remote' })).toBe('elsewhere')
})

test('the proxy is asked once, and again after a proof', async () => {
  const asked = vi.fn<() => Promise<HostInfo>>()
  const info = (kind: HostInfo['kind'], isUnproven: boolean) => ({ kind, isUnproven, version: '1', platform: 'linux' })
  asked.mockResolvedValue(info('remote', true))
  withServices({}, testEvents(), { host: { info: asked } as never })
  const browser = useBrowserPlace()
  expect(browser.opensPorts).toBe(true)
  expect(await browser.known()).toBe('unproved')
  expect(await browser.known()).toBe('unproved')
  expect(asked).toHaveBeenCalledOnce()
  expect(browser.opensPorts).toBe(false)
  asked.mockResolvedValue(info('local', false))
  expect(await browser.read()).toBe('here')
  expect(browser.opensPorts).toBe(true)
})
