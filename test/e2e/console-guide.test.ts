import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../fixtures/berth.ts'
import { CHAPTERS, DESKTOP_CHAPTER } from './guide-chapters.ts'
import { SCENES, SCENES_OF_TESTS } from './guide-scenes.ts'

/** docs/guide/pages.md shows every page and dialog. No browser is needed to see that it is complete. */
const inChapters = Object.values(CHAPTERS).flatMap(Object.keys)

test('every scene that shows something of its own has a place in the guide, and every place its scene', () => {
  const missing = SCENES_OF_TESTS.filter(({ name, alike }) => alike !== true && !inChapters.includes(name))
  expect(missing.map(({ name }) => name)).toEqual([])
  const desktop = Object.keys(CHAPTERS[DESKTOP_CHAPTER] ?? {})
  const known = new Set([...SCENES.map(({ name }) => name), ...desktop])
  expect(inChapters.filter(name => !known.has(name))).toEqual([])
  expect(new Set(inChapters).size).toBe(inChapters.length)
})

test('every place in the guide has its four pictures, and there are no others', async () => {
  const files = inChapters.flatMap(name =>
    ['en', 'ko'].flatMap(language => ['light', 'dark'].map(theme => `${name}-${language}-${theme}.webp`)),
  )
  expect((await readdir(join(root, 'docs/guide/pages'))).toSorted()).toEqual(files.toSorted())
  const text = await readFile(join(root, 'docs/guide/pages.md'), 'utf8')
  expect(files.filter(file => !text.includes(`(pages/${file})`))).toEqual([])
})
