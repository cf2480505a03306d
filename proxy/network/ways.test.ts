import { expect, test } from 'vitest'
import { environmentWays } from './environment-ways.ts'
import { parsePacAnswer } from './pac-answer.ts'
import { isLoopback } from './way.ts'

test.each([
  ['DIRECT', [{ kind: 'direct' }]],
  ['', [{ kind: 'direct' }]],
  [
    'PROXY proxy.example:3128; HTTPS safe.example; DIRECT',
    [
      { kind: 'proxy', url: 'http://proxy.example:3128' },
      { kind: 'proxy', url: 'https://safe.example' },
      { kind: 'direct' },
    ],
  ],
  ['PROXY [2001:db8::1]:3128', [{ kind: 'proxy', url: 'http://[2001:db8::1]:3128' }]],
  ['SOCKS5 s.example:1080', [{ kind: 'proxy', url: 'socks5://s.example:1080' }]],
  ['SOCKS4 s.example:1080', [{ kind: 'unknown', named: 'SOCKS4 s.example:1080' }]],
  ['PROXY', [{ kind: 'unknown', named: 'PROXY' }]],
])('the answer %j of a PAC file is read', (answer, ways) => {
  expect(parsePacAnswer(answer)).toEqual(ways)
})

const to = async (env: Record<string, string>, url: string) => {
  const [way] = await environmentWays(env)(new URL(url))
  return way?.kind === 'proxy' ? way.url : way?.kind
}

test.each([
  [{}, 'https://berth.example', 'direct'],
  [{ HTTPS_PROXY: 'http://p:3128' }, 'https://berth.example', 'http://p:3128'],
  [{ HTTPS_PROXY: 'http://p:3128' }, 'http://berth.example', 'direct'],
  [{ https_proxy: 'http://small:1', HTTPS_PROXY: 'http://p:3128' }, 'https://berth.example', 'http://small:1'],
  [{ ALL_PROXY: 'p:3128' }, 'http://berth.example', 'http://p:3128'],
  [{ ALL_PROXY: 'socks5h://p:1080' }, 'https://berth.example', 'socks5://p:1080'],
  [{ ALL_PROXY: 'socks4://p:1080' }, 'https://berth.example', 'unknown'],
])('%j leads %s by %s', async (env, url, expected) => {
  expect(await to(env, url)).toBe(expected)
})

test.each([
  ['*', 'https://berth.example', true],
  ['example.org, berth.example', 'https://berth.example', true],
  ['berth.example', 'https://lab.berth.example:8400', true],
  ['.berth.example', 'https://berth.example', true],
  ['*.example', 'https://berth.example', true],
  ['example', 'https://notexample', false],
  ['berth.example:8400', 'https://berth.example', false],
  ['berth.example:443', 'https://berth.example', true],
  ['10.0.0.0/8', 'https://10.1.2.3', true],
  ['10.0.0.0/8', 'https://11.1.2.3', false],
  ['10.0.0.0/99', 'https://10.1.2.3', false],
  ['fd00::/8', 'https://[fd00::1]:8400', true],
  ['[fd00::1]:8400', 'https://[fd00::1]:8400', true],
])('NO_PROXY=%s excepts %s: %s', async (list, url, isExcepted) => {
  expect(await to({ HTTPS_PROXY: 'http://p:3128', NO_PROXY: list }, url)).toBe(isExcepted ? 'direct' : 'http://p:3128')
})

test('a name and a password in the variable are taken out of the address', async () => {
  const findWays = environmentWays({ HTTPS_PROXY: 'http://m%40x:p%3Aw@p:3128' })
  expect(await findWays(new URL('https://berth.example'))).toEqual([
    { kind: 'proxy', url: 'http://p:3128', signIn: 'm@x:p:w' },
  ])
})

test.each([
  ['http://localhost:8400', true],
  ['http://a.localhost', true],
  ['http://127.9.9.9', true],
  ['http://[::1]:1', true],
  ['https://127.0.0.1.example', false],
  ['https://10.0.0.1', false],
])('%s is this computer: %s', (url, expected) => {
  expect(isLoopback(new URL(url))).toBe(expected)
})
