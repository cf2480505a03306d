import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSignInPage } from './sign-in-page.ts'

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-'))))
afterEach(() => rm(directory, { recursive: true }))

const link = 'http://localhost:8400/#/sign-in?ticket=one-time'

test('the link is passed to the browser by a file that only its owner can read, even if it existed before', async () => {
  await writeFile(join(directory, 'sign-in.html'), '', { mode: 0o644 })
  await using page = createSignInPage(directory)
  const url = await page.write(link)
  expect(url).not.toContain('one-time')
  const path = fileURLToPath(url)
  expect(await readFile(path, 'utf8')).toContain(`<meta http-equiv="refresh" content="0; url=${link}">`)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('the page is removed after its time, and when Berth stops', async () => {
  await using brief = createSignInPage(directory, 1)
  await brief.write(link)
  await expect.poll(() => readdir(directory)).toEqual([])
  {
    await using page = createSignInPage(directory)
    await page.write(link)
  }
  expect(await readdir(directory)).toEqual([])
})
