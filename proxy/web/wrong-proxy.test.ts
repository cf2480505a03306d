import { type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { type Log, silentLog } from '../log.ts'
import { judgeProxy, watchProxies } from './wrong-proxy.ts'

/** Browsers send it only over https and to loopback names. */
const BROWSER = { 'sec-fetch-site': 'same-origin' }
const POST = { origin: 'https://berth.example.org' }
const both = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }
const from = (remoteAddress: string, headers: Record<string, string>) =>
  ({ socket: { remoteAddress }, headers: { host: 'berth.example.org', ...headers } }) as unknown as IncomingMessage

test.each([
  ['a named proxy that says nothing', '::ffff:127.0.0.1', BROWSER, 'fields_missing'],
  ['a named proxy that says nothing of a browser without Sec-Fetch', '127.0.0.1', POST, 'fields_missing'],
  ['a named proxy without the scheme', '127.0.0.1', { 'x-forwarded-for': '192.0.2.1' }, 'fields_missing'],
  [
    'a named proxy that says http of https',
    '127.0.0.1',
    { ...POST, ...both, 'x-forwarded-proto': 'http' },
    'scheme_wrong',
  ],
  ['a proxy that is not named', '10.0.0.9', both, 'not_trusted'],
  ['a proxy on this computer that is not named', '::1', { 'x-forwarded-for': '192.0.2.1' }, 'not_trusted'],
  ['a silent proxy on this computer', '::1', BROWSER, 'silent'],
  ['a silent proxy on another computer', '10.0.0.9', BROWSER, 'silent'],
  ['a silent proxy before a browser without Sec-Fetch', '10.0.0.9', POST, 'silent'],
  ['a proxy that changes the host', '10.0.0.9', { ...BROWSER, ...POST, host: 'localhost:8400' }, 'host_changed'],
] as const)('%s is a fault', (_name, peer, headers, code) => {
  expect(judgeProxy(from(peer, headers), ['127.0.0.1'], true)).toBe(code)
})

test.each([
  ['the health check of a named proxy', '127.0.0.1', {}],
  ['a browser on this computer', '::1', { ...BROWSER, host: 'localhost:8400', origin: 'http://localhost:8400' }],
  ['a browser on the computer of a named proxy', '127.0.0.1', { ...BROWSER, host: 'localhost:8400' }],
  ['an SSH port forward to this computer', '127.0.0.1', { ...BROWSER, host: '127.0.0.1:8400' }],
  ['a browser at a name below localhost', '::1', { ...BROWSER, host: 'berth.localhost:8400' }],
  ['a browser on another computer, over http', '192.0.2.3', { origin: 'http://berth.example.org' }],
  ['a browser behind a forward proxy, over http', '192.0.2.3', { 'x-forwarded-for': '10.0.0.1', via: '1.1 squid' }],
  ['a program on this computer', '::1', {}],
  ['a page of another site', '192.0.2.3', { origin: 'https://evil.example' }],
] as const)('%s is no fault', (_name, peer, headers) => {
  expect(judgeProxy(from(peer, headers), ['127.0.0.1'], true)).toBe('unknown')
})

test.each([
  ['a name of its own that leads here', { ...BROWSER, host: 'evil.localhost.:8400' }],
  ['a name of its own, with fields of a proxy that it may set there', { ...both, host: 'evil.example:8400' }],
  ['a name of its own, with a field for the address', { 'x-forwarded-for': '192.0.2.1', host: 'evil.example:8400' }],
  ['another form of the address', { ...BROWSER, host: '[::ffff:7f00:1]:8400' }],
  ['https, and a name of its own', { ...POST, host: 'berth.example.org' }],
] as const)('a page cannot invent a proxy at the address of its reader by %s', (_name, headers) => {
  for (const peer of ['127.0.0.1', '::1']) expect(judgeProxy(from(peer, headers), ['127.0.0.1'], false)).toBe('unknown')
})

test('a proxy that changes the host to one that is not served is still seen', () => {
  const headers = { ...BROWSER, ...POST, host: 'backend:8400' }
  expect(judgeProxy(from('10.0.0.9', headers), ['127.0.0.1'], false)).toBe('host_changed')
})

function aWatch(trusted = ['127.0.0.1']) {
  const told: string[] = []
  const log: Log = { ...silentLog, warn: (_fields, message) => void told.push(message) }
  let minute = 0
  const watch = watchProxies(trusted, log, () => new Date(Date.UTC(2026, 0, 1, 0, minute++)))
  return { watch, told }
}

test('a fault is logged once with the setting to change, and kept with its first and last time', () => {
  const { watch, told } = aWatch()
  for (let i = 0; i < 3; i++) watch.inspect(from('10.0.0.9', both), true)
  expect(told).toHaveLength(1)
  expect(told[0]).toMatch(/10\.0\.0\.9 carry X-Forwarded.*BERTH_TRUSTED_PROXIES=10\.0\.0\.9.*docs\/admin/)
  expect(watch.faults()).toEqual([
    {
      code: 'not_trusted',
      peer: '10.0.0.9',
      firstSeen: '2026-01-01T00:00:00.000Z',
      lastSeen: '2026-01-01T00:02:00.000Z',
    },
  ])
})

test('a fault ends once the proxy sends all fields, not with a direct request', () => {
  const { watch } = aWatch()
  watch.inspect(from('127.0.0.1', BROWSER), true)
  watch.inspect(from('127.0.0.1', { ...BROWSER, host: 'localhost:8400' }), true)
  expect(watch.faults()).toHaveLength(1)
  watch.inspect(from('127.0.0.1', { ...BROWSER, ...both }), true)
  expect(watch.faults()).toEqual([])
})

test('faults that clients invent fill neither the log nor the memory', () => {
  const { watch, told } = aWatch()
  for (let i = 0; i < 300; i++) watch.inspect(from(`10.0.${i >> 8}.${i & 255}`, both), true)
  expect(told).toHaveLength(20)
  expect(watch.faults()).toHaveLength(20)
  expect(watch.faults()[0]?.peer).toBe('10.0.1.43')
})
