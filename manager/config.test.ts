import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

test('only the data directory is needed', () => {
  expect(readConfig({ BERTH_DATA: '/data', BERTH_PORT: '', DATABASE_URL: '' })).toEqual({
    dataDir: '/data',
    host: '127.0.0.1',
    port: 0,
    databaseUrl: undefined,
    adminPassword: undefined,
    allowedHosts: [],
    trustedProxies: [],
    logLevel: 'info',
  })
})

test('names are split, and what is wrong is named', () => {
  expect(readConfig({ BERTH_DATA: '/data', BERTH_ALLOWED_HOSTS: ' a, b:1,,' }).allowedHosts).toEqual(['a', 'b:1'])
  expect(() => readConfig({})).toThrow('BERTH_DATA: must name the data directory')
  expect(() => readConfig({ BERTH_DATA: '' })).toThrow('BERTH_DATA: must name the data directory')
  for (const BERTH_PORT of ['70000', '-1', '1.5', 'x'])
    expect(() => readConfig({ BERTH_DATA: '/data', BERTH_PORT })).toThrow(
      'BERTH_PORT: must be a number from 0 to 65535',
    )
})

test('an empty admin password is one that breaks the rules, not one that is absent', () => {
  expect(readConfig({ BERTH_DATA: '/data', BERTH_ADMIN_PASSWORD: '' }).adminPassword).toBe('')
})
