import { expect, test } from 'vitest'
import { originOfApp, parseAppsAddress } from './apps-address.ts'

test.each([
  ['https://*.apps.example.org', 'https://abc.apps.example.org'],
  ['http://*.apps.localhost:8400', 'http://abc.apps.localhost:8400'],
  ['http://apps.example.org:20000-20099', 'http://apps.example.org:20007'],
  ['https://203.0.113.7:2000-2000', 'https://203.0.113.7:20007'],
])('%s gives an app the origin %s', (text, origin) => {
  const address = parseAppsAddress(text)
  expect(address && originOfApp(address, { name: 'abc', port: 20_007 })).toBe(origin)
})

test.each([
  'apps.example.org',
  'https://apps.example.org',
  'https://*.apps.example.org/path',
  'https://*apps.example.org',
  'ftp://*.apps.example.org',
  'http://apps.example.org:20099-20000',
  'http://apps.example.org:20000-20300',
  'http://apps.example.org:80-90',
  'http://apps.example.org:65000-65536',
])('%s is not an address for apps', text => {
  expect(parseAppsAddress(text)).toBeUndefined()
})
