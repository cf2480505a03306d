import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../bootstrap/image-recipes.ts'
import { installedPackages, OWN_PACKAGES, OWN_PARTS } from './bundle-files.ts'

/** `build/bootstrap` has tools for tests as well; what `berth admin image build` reaches there imports only Node. */
const parts = OWN_PARTS.filter(part => part !== 'build/bootstrap')

test('the bundle has every npm package and every folder that its programs import', () => {
  const files = parts
    .flatMap(part => globSync(`${part}/**/*.ts`, { cwd: ROOT }))
    .filter(path => !path.endsWith('.test.ts'))
  expect(files.length).toBeGreaterThan(500)
  const imported = files.flatMap(path =>
    [
      ...readFileSync(join(ROOT, path), 'utf8').matchAll(
        /(?:^|[^.\w])(?:from|import|import\.meta\.url\))\s*\(?'([@\w][^']*)'/gm,
      ),
    ].map(([, name = '']) => name),
  )
  const names = new Set(imported.filter(name => !name.startsWith('node:')).map(packageOf))
  expect([...names].filter(name => /^[@a-z][\w@/.-]*$/.test(name)).sort()).toEqual([...OWN_PACKAGES].sort())
})

const packageOf = (name: string) =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')

test('packages are found as Node finds them: below the installation, inside a package, and beside it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
  try {
    const make = (path: string, manifest: object) => {
      mkdirSync(join(folder, path), { recursive: true })
      writeFileSync(join(folder, path, 'package.json'), JSON.stringify(manifest))
    }
    make('node_modules/berth', {})
    make('node_modules/berth/node_modules/a', {
      dependencies: { b: '1', c: '2' },
      optionalDependencies: { absent: '1' },
    })
    make('node_modules/berth/node_modules/a/node_modules/b', {})
    make('node_modules/c', { dependencies: { a: '1' } })
    const root = join(folder, 'node_modules/berth')
    expect(installedPackages(root, ['a']).map(({ base, path }) => [base === root, path])).toEqual([
      [true, 'node_modules/a'],
      [true, 'node_modules/a/node_modules/b'],
      [false, 'node_modules/c'],
    ])
    expect(() => installedPackages(root, ['absent'])).toThrow('absent is not installed')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
