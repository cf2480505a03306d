import { type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { clientAddress, createOriginRules, forwarded } from './origin.ts'

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
  const check = () =>
    rules.check({ ...(host === undefined ? {} : { host }), ...(origin === undefined ? {} : { origin }) })
  if (code === undefined) expect(check).not.toThrow()
  else expect(check).toThrow(expect.objectContaining({ code }))
})

test('what a proxy forwards is believed from this computer only', () => {
  const headers = {
    host: 'a:1',
    'x-forwarded-host': 'b:2',
    'x-forwarded-proto': 'https',
    'x-forwarded-for': '1.2.3.4, 10.0.0.9',
  }
  expect(forwarded(aRequest('::1', headers))).toEqual({ host: 'b:2', https: true })
  expect(forwarded(aRequest('192.168.1.5', headers))).toEqual({ host: 'a:1', https: false })
  expect(clientAddress(aRequest('127.0.0.1', headers))).toBe('10.0.0.9')
  expect(clientAddress(aRequest('192.168.1.5', headers))).toBe('192.168.1.5')
  expect(clientAddress(aRequest('127.0.0.1', { 'x-forwarded-for': 'x y' }))).toBe('127.0.0.1')
})
