import { pino } from 'pino'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../../test/fixtures/manager.ts'
import { openWebTls } from './web-tls.ts'

const HERE = ['localhost', '127.0.0.1', '::1']

test.each([
  ['no address', undefined, ['berth.example.org'], 443, 'https://localhost'],
  ['every address', '0.0.0.0', ['berth.example.org'], 8400, 'https://localhost:8400'],
  ['a loopback address', '127.0.0.1', ['berth.example.org'], 8400, 'https://localhost:8400'],
  ['another loopback address', '127.0.0.2', ['berth.example.org', '127.0.0.2'], 8400, 'https://localhost:8400'],
  ['one address', '10.0.0.5', ['10.0.0.5'], 8400, 'https://10.0.0.5:8400'],
  ['one address that has a name', '10.0.0.5', ['berth.example.org', '10.0.0.5'], 443, 'https://berth.example.org'],
  ['one address of version 6', '2001:db8::5', ['2001:db8::5'], 8400, 'https://[2001:db8::5]:8400'],
  ['an address with a zone', 'fe80::1%eth0', ['fe80::1%eth0'], 8400, 'https://localhost:8400'],
  ['one address for which no name is configured', '10.0.0.5', [], 8400, 'https://localhost:8400'],
])('a console that listens at %s names an address at which it is reached', async (_, host, names, port, url) => {
  await using directory = await temporaryDirectory()
  const log = pino({ level: 'silent' })
  using tls = await openWebTls({ source: 'own', names: [...HERE, ...names] }, { dataDir: directory.path, log, host })
  expect(tls.urlOf(port)).toBe(url)
})
