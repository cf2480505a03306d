import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from '../bootstrap/image-recipes.ts'
import { ensureRenderer } from '../bootstrap/renderer.ts'
import { MANIFEST } from './manifest.ts'
import { stageProgram } from './stage-program.ts'
import { treeOf } from './tree.ts'

const temporary = mkdtempSync(join(tmpdir(), 'berth-program-'))
// The layout of npx: the package in a node_modules folder, its dependencies beside it.
const modules = join(temporary, 'node_modules')
const program = join(modules, 'berth')
let files: string[] = []

beforeAll(async () => {
  // `npm test` has built the console before, but in a new clone a single test run has not.
  if (!existsSync(join(ROOT, 'dist', 'renderer', 'index.html'))) {
    await ensureRenderer(() => undefined, new AbortController().signal)
  }
  await stageProgram(program)
  files = treeOf(program).flatMap(({ path, type }) => (type === 'file' ? [path] : []))
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
}, 600_000)
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

test('the program of a package has no sources, tests, source maps or documents of developers', () => {
  expect(files.filter(path => /\.(ts|vue|map|md)$|\.test\.|(^|\/)\./.test(path))).toEqual([])
  expect(files).toEqual(
    expect.arrayContaining(['bin/berth', 'LICENSE', 'manager/main.js', 'agent/main.js', 'build/toolbox/Dockerfile']),
  )
})

test('every import, and every file that a thread is started from, leads to a file of the package, to Node, or to a dependency', () => {
  const lost: string[] = []
  for (const file of files.filter(path => path.endsWith('.js') && !path.startsWith('dist/'))) {
    const text = readFileSync(join(program, file), 'utf8')
    for (const [, specifier = ''] of text.matchAll(/(?:^import|^export|\bimport\().*?"([^"]+)"/gm)) {
      const found = specifier.startsWith('.')
        ? existsSync(resolve(program, dirname(file), specifier))
        : isBuiltin(specifier) || Object.hasOwn(MANIFEST.dependencies, packageOf(specifier))
      if (!found) lost.push(`${file}: ${specifier}`)
    }
    for (const [, path = ''] of text.matchAll(/"(\.\/[\w-]+\.js)"/g))
      if (!existsSync(resolve(program, dirname(file), path))) lost.push(`${file}: ${path}`)
  }
  expect(lost).toEqual([])
})

test('the command runs below node_modules, where Node strips no types', () => {
  const run = (...args: string[]) =>
    execFileSync(process.execPath, [join(program, 'bin', 'berth'), ...args], {
      encoding: 'utf8',
      env: { ...process.env, NODE_COMPILE_CACHE: join(temporary, 'cache') },
    })
  expect(run('--version').trim()).toBe(MANIFEST.version)
  expect(run('up', '--help')).toContain('--images')
  expect(run('admin', 'image', 'build')).toContain('berth/toolbox:latest')
})

test('npx installs the versions of the lock file', () => {
  const { packages } = JSON.parse(readFileSync(join(program, 'npm-shrinkwrap.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; version: string }>
  }
  expect(packages['node_modules/fastify']?.version).toBe(MANIFEST.dependencies.fastify)
  expect(Object.values(packages).some(({ dev }) => dev)).toBe(false)
})

const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
