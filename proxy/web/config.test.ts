import { expect, test } from 'vitest'
import { parseConfig } from './config.ts'

const read = (address: string, hosts = 'berth.example.org') =>
  parseConfig(
    { BERTH_MANAGER_URL: 'http://127.0.0.1:1', BERTH_APPS_ADDRESS: address, BERTH_ALLOWED_HOSTS: hosts },
    { consoleDir: '/page', version: '0' },
  ).appsAddress

test.each(['http://localhost:20000-20010', 'https://berth.example.org:8000-8500', 'https://*.example.org', 'nonsense'])(
  'apps cannot be served at %s, which is not an address, or is one of the console',
  address => expect(() => read(address)).toThrow('BERTH_APPS_ADDRESS'),
)

test.each([
  'http://apps.localhost:20000-20010',
  'https://berth.example.org:20000-20010',
  'https://*.apps.berth.example.org',
  'https://*.example.net',
])('apps are served at %s', address => expect(read(address)).toBeDefined())

test.each([
  [undefined, 'k'.repeat(43)],
  ['on', 'k'.repeat(43)],
  ['off', undefined],
])('with BERTH_DIRECT_PATH=%s the key of the direct path is %s', (direct, key) =>
  expect(
    parseConfig(
      { BERTH_MANAGER_URL: 'http://127.0.0.1:1', BERTH_DIRECT_KEY: 'k'.repeat(43), BERTH_DIRECT_PATH: direct },
      { consoleDir: '/page', version: '0' },
    ).directKey,
  ).toBe(key),
)
