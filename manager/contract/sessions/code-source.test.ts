import { expect, test } from 'vitest'
import { fetchCommand, readCodeSource } from './code-source.ts'

test.each([
  ['https://github.com/numpy/numpy', { kind: 'repository', url: 'https://github.com/numpy/numpy', name: 'numpy' }],
  [
    ' https://git.example.org/team/tools.git/ ',
    { kind: 'repository', url: 'https://git.example.org/team/tools.git', name: 'tools' },
  ],
  [
    'https://github.com/numpy/numpy/tree/v2.1.0',
    { kind: 'repository', url: 'https://github.com/numpy/numpy', branch: 'v2.1.0' },
  ],
  [
    'https://gitlab.example.org/a/b/c/-/tree/main?ref_type=heads',
    { kind: 'repository', url: 'https://gitlab.example.org/a/b/c', branch: 'main' },
  ],
  [
    'https://git.example.org/tree/house',
    { kind: 'repository', url: 'https://git.example.org/tree/house', name: 'house' },
  ],
  [
    'https://github.com/o/r/blob/main/docs/First%20steps.ipynb#part',
    {
      kind: 'notebook',
      url: 'https://raw.githubusercontent.com/o/r/main/docs/First%20steps.ipynb',
      name: 'First steps.ipynb',
    },
  ],
  [
    'https://gitlab.example.org/a/b/-/blob/main/x.ipynb',
    { kind: 'notebook', url: 'https://gitlab.example.org/a/b/-/raw/main/x.ipynb' },
  ],
  [
    'https://example.org/files/x.ipynb?key=1',
    { kind: 'notebook', url: 'https://example.org/files/x.ipynb?key=1', name: 'x.ipynb' },
  ],
])('%s is read', (address, expected) => {
  expect(readCodeSource(address)).toMatchObject(expected)
})

test.each([
  '',
  'numpy',
  'http://github.com/numpy/numpy',
  'file:///etc/passwd',
  'ext::sh -c touch% /tmp/x',
  'git@github.com:numpy/numpy.git',
  'https://mira:token@github.com/numpy/numpy',
  'https://github.com/',
  'https://github.com/numpy/numpy/tree/main/doc/source',
  'https://github.com/numpy/numpy/blob/main/README.md',
  'https://gitlab.example.org/a/b/-/tree/feature/x',
  'https://example.org/a/..%2f',
  'https://example.org/%2e%2e%2fx.ipynb',
  'https://example.org/a%0ab',
  'https://example.org/%zz',
  `https://example.org/${'a'.repeat(2000)}`,
])('%s is refused', address => {
  expect(readCodeSource(address)).toBeUndefined()
})

test('a quote in an address does not end the word of the shell', () => {
  const source = readCodeSource("https://example.org/it's;id")
  expect(source && fetchCommand(source, '/home/work')).toBe(
    `[ -e '/home/work/it'\\''s;id' ] || GIT_TERMINAL_PROMPT=0 git clone --depth 1 -- 'https://example.org/it'\\''s;id' '/home/work/it'\\''s;id'`,
  )
})
