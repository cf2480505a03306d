import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { imageHash, nameOf, recipeFiles, recipeHash, RECIPES } from './image-recipes.ts'
import { appsOfImage } from '#agent/contract'
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
  expect(parseStartFlags(args)).toEqual({
    docker: false,
    data: '/d',
    port: '0',
    config: undefined,
    window: false,
    rest: ['--port', '0', '--data', '/d', '--json'],
  })
  expect(parseStartFlags(['--data=/e'])).toEqual({ docker: true, data: '/e', window: true, rest: ['--data=/e'] })
})

test.each(RECIPES.map(recipe => [nameOf(recipe), recipe] as const))(
  'the recipe %s has readable labels',
  async (_, recipe) => {
    const text = (await readFile(join(recipe.folder, 'Dockerfile'), 'utf8')).replaceAll('\\\n', '')
    const labels = Object.fromEntries(
      [...text.matchAll(/(berth\.image\.[\w.]+)=(?:"([^"]*)"|'([^']*)')/g)].map(([, name = '', plain, quoted]) => [
        name,
        plain ?? quoted ?? '',
      ]),
    )
    expect(labels).toMatchObject({
      'berth.image.title': expect.any(String) as string,
      'berth.image.min.mem': expect.any(String) as string,
    })
    // An image based on another one of ours also has its apps.
    const declared = JSON.parse(labels['berth.image.apps'] ?? '[]') as unknown[]
    expect(appsOfImage(labels)).toHaveLength(declared.length)
    expect(declared.length > 0).toBe(recipe.from === 'debian')
  },
)

test('an image is made again when its arguments or the image below it change', () => {
  const [cuda, r, python] = ['cuda', 'r', 'python'].map(name => RECIPES.find(recipe => nameOf(recipe) === name)!)
  expect(imageHash(python!)).toBe(recipeHash(python!.folder))
  expect(imageHash({ ...cuda!, args: { BASE: 'another' } })).not.toBe(imageHash(cuda!))
  expect(imageHash(r!)).not.toBe(imageHash({ ...r!, from: 'debian' }))
})
