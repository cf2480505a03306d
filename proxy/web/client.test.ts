import { type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { clientOf } from './client.ts'
import { parseConfig } from './config.ts'

const from = (remoteAddress: string, fields: Record<string, string[]> = {}) => {
  const headers = Object.fromEntries(Object.entries(fields).map(([name, values]) => [name, values.join(', ')]))
  return { socket: { remoteAddress }, headersDistinct: fields, headers } as unknown as IncomingMessage
}
const said = { 'x-forwarded-for': ['6.6.6.6, 203.0.113.9'], 'x-forwarded-proto': ['https'] }

test.each([['127.0.0.1'], ['::1'], ['10.0.0.8']])('forwarded fields of %s, which is not named, are ignored', peer => {
  expect(clientOf(from(peer, said), ['10.0.0.7'])).toEqual({ address: peer, scheme: 'http' })
})

test('the hop and the scheme of a named reverse proxy are trusted', () => {
  expect(clientOf(from('::ffff:10.0.0.7', said), ['10.0.0.7'])).toEqual({ address: '203.0.113.9', scheme: 'https' })
  const twice = { 'x-forwarded-for': ['6.6.6.6', '203.0.113.9'] }
  expect(clientOf(from('10.0.0.7', twice), ['10.0.0.7'])).toEqual({ address: '203.0.113.9', scheme: 'http' })
})

test.each([
  ['https://berth.example.org', '10.0.0.7', 'https'],
  ['https://berth.example.org', '192.0.2.1', 'https'],
  ['http://berth.example.org', '10.0.0.7', 'http'],
  ['https://berth.example.org:444', '10.0.0.7', 'http'],
  ['https://evil.example', '10.0.0.7', 'http'],
])('without a scheme from a proxy, Origin %s from %s means %s', (origin, peer, scheme) => {
  const fields = { host: ['berth.example.org'], origin: [origin] }
  expect(clientOf(from(peer, fields), ['10.0.0.7']).scheme).toBe(scheme)
})

test('without a usable forwarded address the client is the peer', () => {
  const fields = { 'x-forwarded-for': ['1.2.3.4, evil'] }
  expect(clientOf(from('10.0.0.7', fields), ['10.0.0.7'])).toEqual({ address: '10.0.0.7', scheme: 'http' })
})

test('trusted proxies are addresses, and none by default', () => {
  const defaults = { consoleDir: '/x', version: '1' }
  const environment = { BERTH_MANAGER_URL: 'http://127.0.0.1:1' }
  expect(parseConfig(environment, defaults).trustedProxies).toEqual([])
  const some = parseConfig({ ...environment, BERTH_TRUSTED_PROXIES: '10.0.0.7, ::1' }, defaults)
  expect(some.trustedProxies).toEqual(['10.0.0.7', '::1'])
  const wrong = { ...environment, BERTH_TRUSTED_PROXIES: '10.0.0.0/8' }
  expect(() => parseConfig(wrong, defaults)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
})
