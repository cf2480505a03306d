import { expect, test, vi } from 'vitest'
import { type HostInfo } from '#proxy/contract'
import { testEvents, withServices } from '../../testing/services.ts'
import { useAccount } from '../account/useAccount.ts'
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
  // A question from before the proof is answered after it.
  const late = Promise.withResolvers<HostInfo>()
  asked.mockReturnValueOnce(late.promise)
  const reading = browser.read()
  asked.mockResolvedValue(info('local', false))
  expect(await useAccount().proveLocal('right')).toBe(true)
  expect(await browser.known()).toBe('here')
  late.resolve(info('remote', true))
  expect(await reading).toBe('here')
  expect(browser.opensPorts).toBe(true)
})
