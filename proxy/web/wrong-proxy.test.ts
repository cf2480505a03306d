import { type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { type Log, silentLog } from '../log.ts'
import { proxyFault, warnOfProxies } from './wrong-proxy.ts'

const BROWSER = { 'sec-fetch-site': 'same-origin' }
const from = (remoteAddress: string, headers: Record<string, string>) =>
  ({ socket: { remoteAddress }, headers: { host: 'berth.example.org', ...headers } }) as unknown as IncomingMessage
const both = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }

test.each([
  ['a named proxy that says nothing', '::ffff:127.0.0.1', { ...BROWSER }, /X-Forwarded-For and X-Forwarded-Proto/],
  [
    'a named proxy without the scheme',
    '127.0.0.1',
    { ...BROWSER, 'x-forwarded-for': '192.0.2.1' },
    /send X-Forwarded-Proto$/,
  ],
  ['a proxy that is not named', '10.0.0.9', both, /10\.0\.0\.9 forwards requests and is not named/],
  ['a silent proxy on this computer', '::1', { ...BROWSER }, /does not say for whom/],
] as const)('%s is a fault', (_name, peer, headers, words) => {
  expect(proxyFault(from(peer, headers), ['127.0.0.1'])).toMatch(words)
})

test.each([
  ['a named proxy that says all', '127.0.0.1', { ...BROWSER, ...both }],
  ['the health check of a named proxy', '127.0.0.1', {}],
  ['a browser on this computer', '::1', { ...BROWSER, host: 'localhost:8400' }],
  ['a browser on another computer', '192.0.2.3', { ...BROWSER }],
  ['a program on this computer', '::1', {}],
] as const)('%s is none', (_name, peer, headers) => {
  expect(proxyFault(from(peer, headers), ['127.0.0.1'])).toBeUndefined()
})

test('a fault is logged once, and faults that clients make up do not fill the log', () => {
  const told: unknown[] = []
  const log: Log = { ...silentLog, warn: (...words: unknown[]) => void told.push(words) }
  const look = warnOfProxies(['127.0.0.1'], log)
  for (let i = 0; i < 3; i++) look(from('127.0.0.1', BROWSER))
  expect(told).toHaveLength(1)
  for (let i = 0; i < 100; i++) look(from('::1', { ...BROWSER, host: `name-${i}.example.org` }))
  expect(told).toHaveLength(20)
})
