import { expect, test } from 'vitest'
import { parseConfig } from '../config.ts'

const given = (environment: Record<string, string>) =>
  parseConfig({ BERTH_MANAGER_URL: 'http://127.0.0.1:1', ...environment }, { consoleDir: '/', version: '0' }).tls

test('TLS is on where other computers can connect, unless a reverse proxy in front is named, or it is turned off', () => {
  expect(given({})).toBeUndefined()
  expect(given({ BERTH_TLS: 'on' })).toMatchObject({ source: 'own' })
  expect(given({ BERTH_HOST: '0.0.0.0' })).toMatchObject({ source: 'own' })
  expect(given({ BERTH_HOST: '0.0.0.0', BERTH_TLS: 'off' })).toBeUndefined()
  expect(given({ BERTH_HOST: '0.0.0.0', BERTH_TRUSTED_PROXIES: '10.0.0.1' })).toBeUndefined()
  const files = { BERTH_TLS_CERTIFICATE: '/c', BERTH_TLS_KEY: '/k' }
  expect(given(files)).toMatchObject({ source: 'files', certificate: '/c', key: '/k' })
  expect(given({ ...files, BERTH_TLS: 'off' })).toBeUndefined()
})

test('the certificate is for the names of the console and of published apps', () => {
  const names = given({
    BERTH_TLS: 'on',
    BERTH_ALLOWED_HOSTS: 'berth.example.org,10.0.0.7:8443,[fd00::7]:8443',
    BERTH_APPS_ADDRESS: 'https://*.apps.example.org:8400',
  })?.names
  const here = ['localhost', '127.0.0.1', '::1']
  expect(names).toEqual([...here, 'berth.example.org', '10.0.0.7', 'fd00::7', '*.apps.example.org'])
})

test.each([
  [{ BERTH_TLS_CERTIFICATE: '/c' }, 'BERTH_TLS_KEY (console.tls.key) is missing'],
  [{ BERTH_TLS_KEY: '/k' }, 'BERTH_TLS_CERTIFICATE (console.tls.certificate) is missing'],
  [{ BERTH_TLS: 'on', BERTH_APPS_ADDRESS: 'http://*.apps.example.org' }, 'must begin with https://'],
])('the settings %j contradict each other', (environment, says) => {
  expect(() => given(environment as unknown as Record<string, string>)).toThrow(
    expect.objectContaining({ code: 'config_invalid', detail: { why: expect.stringContaining(says) as string } }),
  )
})
