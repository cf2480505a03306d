import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type HostBridge } from '#proxy/contract'
import { stub } from '../../test/fixtures/electron-stub.ts'

const activation = { isActive: false }
const called: string[] = []
let host: HostBridge

beforeAll(async () => {
  vi.stubGlobal('navigator', { userActivation: activation })
  await import('./index.ts')
  host = stub.exposed.get('host') as HostBridge
  for (const channel of [
    'host.setEndpoint',
    'host.endpoint',
    'desktop.openServer',
    'desktop.forgetServer',
    'ssh.openIn',
  ])
    stub.handlers.set(`host:${channel}`, () => Promise.resolve(void called.push(channel)))
  stub.handlers.set('host:desktop.chooseCaFile', () => {
    activation.isActive = false
    return Promise.resolve({ ok: true, value: {} })
  })
})
beforeEach(() => {
  called.length = 0
  activation.isActive = false
})
afterAll(() => {
  vi.unstubAllGlobals()
  stub.handlers.clear()
})

const URL_OF = 'https://berth.example'
const calls = {
  'host.setEndpoint': () => host.host.setEndpoint({ kind: 'remote', url: URL_OF }),
  'desktop.openServer': () => host.desktop.openServer(URL_OF),
  'desktop.forgetServer': () => host.desktop.forgetServer(URL_OF),
  'ssh.openIn': () => host.ssh.openIn('terminal', 'x' as never),
}

test.each(Object.entries(calls))('%s takes a click or a key: no script calls it by itself', async (name, call) => {
  expect(await call()).toMatchObject({ ok: false, error: { code: 'forbidden' } })
  expect(called).toEqual([])
  activation.isActive = true
  await call()
  expect(called).toEqual([name])
})

test('the page goes on by itself after the user has chosen a file in a question of the system', async () => {
  expect(await host.desktop.chooseCaFile()).toMatchObject({ ok: false, error: { code: 'forbidden' } })
  activation.isActive = true
  expect(await host.desktop.chooseCaFile()).toMatchObject({ ok: true })
  await calls['host.setEndpoint']()
  expect(called).toEqual(['host.setEndpoint'])
})

test('other methods need no click', async () => {
  await host.host.endpoint()
  expect(called).toEqual(['host.endpoint'])
})
