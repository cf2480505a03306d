import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { recipeFiles, recipeHash } from './image-recipes.ts'
import { parseStartFlags } from './start-flags.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-test-'))
  await mkdir(join(folder, 'bin'))
  await writeFile(join(folder, 'Dockerfile'), 'FROM scratch')
  await writeFile(join(folder, 'bin', 'tool'), 'one')
})
afterEach(() => rm(folder, { recursive: true }))

test('the hash of a recipe covers names, contents and executable bits, and no documents', async () => {
  const seen = [recipeHash(folder)]
  const changed = async (change: () => Promise<void>) => {
    await change()
    seen.push(recipeHash(folder))
  }
  await changed(() => writeFile(join(folder, 'README.md'), 'about'))
  expect(seen[1]).toBe(seen[0])
  await changed(() => writeFile(join(folder, 'bin', 'tool'), 'two'))
  await changed(() => chmod(join(folder, 'bin', 'tool'), 0o755))
  await changed(() => writeFile(join(folder, 'bin', 'other'), ''))
  expect(new Set(seen.slice(1)).size).toBe(4)
})

test('the files of a recipe come in a stable order with paths of the archive', () => {
  expect(recipeFiles(folder).map(file => file.path)).toEqual(['Dockerfile', 'bin/tool'])
})

test('of the flags of npm start only --no-docker belongs to the bootstrap', () => {
  const args = ['--port', '0', '--no-docker', '--data', '/d', '--json']
  expect(parseStartFlags(args)).toEqual({ docker: false, data: '/d', rest: ['--port', '0', '--data', '/d', '--json'] })
  expect(parseStartFlags(['--data=/e'])).toEqual({ docker: true, data: '/e', rest: ['--data=/e'] })
})
