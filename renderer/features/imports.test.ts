import { glob, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

/** A feature shows another one now and then. Above this number, something that features share is missing in `data/` or `ui/`. */
const MOST = 60

test('features seldom import each other', async () => {
  const found: string[] = []
  for await (const file of glob('renderer/features/*/**/*.{ts,vue}')) {
    const own = featureOf(file)
    const text = await readFile(file, 'utf8')
    for (const [, path = ''] of text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)) {
      const to = featureOf(join(dirname(file), path))
      if (to !== undefined && to !== own) found.push(`${file} → ${path}`)
    }
  }
  expect(found.length, found.join('\n')).toBeLessThanOrEqual(MOST)
})

/** Name of the folder in `renderer/features/`. */
function featureOf(path: string): string | undefined {
  const [feature, ...rest] = relative('renderer/features', path).split('/')
  return feature === '..' || rest.length === 0 ? undefined : feature
}
