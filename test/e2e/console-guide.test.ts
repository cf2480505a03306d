import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../fixtures/berth.ts'
import { CHAPTERS, DESKTOP_CHAPTER } from './guide-chapters.ts'
import { ALL_LOOKS, guideText, KEPT_LOOKS } from './guide-pictures.ts'
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

test('every place in the guide has its picture, English and light, and there are no others', async () => {
  const files = inChapters.map(name => `${name}-en-light.webp`)
  expect((await readdir(join(root, 'docs/guide/pages'))).toSorted()).toEqual(files.toSorted())
  expect(await readFile(join(root, 'docs/guide/pages.md'), 'utf8')).toBe(guideText(KEPT_LOOKS))
})

test('a guide with all pictures shows the English, light one of each scene and links the other three', () => {
  const text = guideText(ALL_LOOKS)
  expect(text).toContain('![sign in](pages/sign-in-en-light.webp)')
  expect(text).toContain('[한국어, 어두운 테마](pages/sign-in-ko-dark.webp)')
  expect(text.match(/\(pages\//g)).toHaveLength(4 * inChapters.length)
})
