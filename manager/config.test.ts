import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

test('only the data directory is required', () => {
  expect(readConfig({ BERTH_DATA: '/data', BERTH_PORT: '', DATABASE_URL: '' })).toEqual({
    dataDir: '/data',
    host: '127.0.0.1',
    port: 0,
    isPortHeld: false,
    databaseUrl: undefined,
    adminPassword: undefined,
    allowedHosts: [],
    trustedProxies: [],
    backendAiProxies: [],
    floorBytes: 2 ** 30,
    logLevel: 'info',
  })
})

test('lists of names are split, and the error names the invalid value', () => {
  expect(readConfig({ BERTH_DATA: '/data', BERTH_ALLOWED_HOSTS: ' a, b:1,,' }).allowedHosts).toEqual(['a', 'b:1'])
  expect(() => readConfig({})).toThrow('BERTH_DATA: must name the data directory')
  expect(() => readConfig({ BERTH_DATA: '' })).toThrow('BERTH_DATA: must name the data directory')
  for (const BERTH_PORT of ['70000', '-1', '1.5', 'x'])
    expect(() => readConfig({ BERTH_DATA: '/data', BERTH_PORT })).toThrow(
      'BERTH_PORT: must be a number from 0 to 65535',
    )
})

test('an empty admin password is refused, and not taken for a missing one', () => {
  expect(readConfig({ BERTH_DATA: '/data', BERTH_ADMIN_PASSWORD: '' }).adminPassword).toBe('')
})
