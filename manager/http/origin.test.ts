import { type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { defined } from '#base/defined'
import { consoleAddress, createOriginRules, noteOrigin, originOf } from './origin.ts'

const rules = createOriginRules({ port: () => 8090, allowed: ['berth.example.org', 'gpu:9000'] })

const aRequest = (remoteAddress: string, headers: Record<string, string>) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage

test.each([
  ['127.0.0.1:8090', undefined, undefined],
  ['localhost:8090', 'http://localhost:8090', undefined],
  ['[::1]:8090', 'http://[::1]:8090', undefined],
  ['LOCALHOST:8090', 'http://localhost:8090', undefined],
  ['berth.example.org', 'https://berth.example.org', undefined],
  ['berth.example.org:444', 'https://berth.example.org:444', undefined],
  ['gpu:9000', undefined, undefined],
  ['gpu', undefined, 'forbidden'],
  ['localhost', undefined, 'forbidden'],
  ['localhost:8091', undefined, 'forbidden'],
  ['rebound.example:8090', undefined, 'forbidden'],
  ['127.0.0.1.example:8090', undefined, 'forbidden'],
  ['localhost:8090', 'http://127.0.0.1:8090', 'foreign_origin'],
  ['localhost:8090', 'http://localhost', 'foreign_origin'],
  ['localhost:8090', 'http://localhost:8090.example', 'foreign_origin'],
  ['localhost:8090', 'null', 'foreign_origin'],
  ['localhost:8090', 'ws://localhost:8090', 'foreign_origin'],
  [undefined, undefined, 'forbidden'],
] as const)('Host %s with Origin %s gives %s', (host, origin, code) => {
  const check = () => rules.check({ ...defined({ host, origin }) })
  if (code === undefined) expect(check).not.toThrow()
  else expect(check).toThrow(expect.objectContaining({ code }))
})

const SECRET = 'a secret of console and manager, 32+'
const FORWARDED = {
  host: 'a:1',
  'x-forwarded-host': 'b:2',
  'x-forwarded-proto': 'https',
  'x-forwarded-for': '1.2.3.4, 10.0.0.9',
}
const originFrom = (remoteAddress: string, headers: Record<string, string>) => {
  const request = aRequest(remoteAddress, headers)
  noteOrigin(request, { consoleSecret: SECRET, trustedProxies: ['192.0.2.7'] })
  return originOf(request)
}
const believed = { address: '10.0.0.9', host: 'b:2', https: true, isForwarded: true, mayBeOfPage: true }

test('forwarded fields are trusted from the console, by its secret, and from named proxies', () => {
  expect(originFrom('127.0.0.1', { ...FORWARDED, 'x-berth-console': SECRET })).toEqual(believed)
  expect(originFrom('10.1.1.1', { ...FORWARDED, 'x-berth-console': SECRET })).toEqual(believed)
  expect(originFrom('::ffff:192.0.2.7', FORWARDED)).toEqual(believed)
})

test.each([
  ['127.0.0.1', FORWARDED],
  ['::1', { ...FORWARDED, 'x-berth-console': `${SECRET}x` }],
  ['192.168.1.5', FORWARDED],
])('from %s without proof forwarded fields are not trusted, but the request counts as forwarded', (peer, headers) => {
  expect(originFrom(peer, headers)).toEqual({
    address: peer,
    host: 'a:1',
    https: false,
    isForwarded: true,
    mayBeOfPage: false,
  })
})

test.each([
  ['a browser behind a proxy that says nothing', '10.1.1.1', {}, true],
  ['a browser behind a named proxy that does not say the scheme', '192.0.2.7', { 'x-forwarded-for': '1.2.3.4' }, true],
  ['a page that was loaded over http', '10.1.1.1', { origin: 'http://berth.example.org' }, false],
  ['a page of another name', '10.1.1.1', { origin: 'https://example.org' }, false],
  ['a console, which sends our own address as Origin', '10.1.1.1', { 'x-forwarded-host': 'localhost:8400' }, false],
] as const)('whether https was used follows from the Origin of %s', (_name, peer, headers, https) => {
  const sent = { host: 'berth.example.org', origin: 'https://berth.example.org', ...headers }
  expect(originFrom(peer, sent).https).toBe(https)
})

test('an invalid forwarded address is ignored; an empty secret proves nothing', () => {
  expect(originFrom('192.0.2.7', { 'x-forwarded-for': 'x y' }).address).toBe('192.0.2.7')
  const request = aRequest('127.0.0.1', { ...FORWARDED, 'x-berth-console': '' })
  noteOrigin(request, {})
  expect(originOf(request).address).toBe('127.0.0.1')
})

test.each([
  ['berth.example.org', undefined, 'https://berth.example.org'],
  ['localhost:8400', undefined, 'https://localhost:8400'],
  ['localhost:8400', 'https://berth.example.org', 'https://berth.example.org'],
  ['evil.example', 'https://berth.example.org', 'https://berth.example.org'],
  ['evil.example', undefined, 'http://a:1'],
])('a link that is requested at %s with the advertised address %s starts with %s', (host, advertised, base) => {
  const request = aRequest('127.0.0.1', { ...FORWARDED, 'x-forwarded-host': host, 'x-berth-console': SECRET })
  noteOrigin(request, { consoleSecret: SECRET })
  expect(consoleAddress(request, rules, advertised)).toBe(base)
})
