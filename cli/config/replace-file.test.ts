import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { replaceFile } from './replace-file.ts'

let directory: string
beforeAll(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-replace-'))))
afterAll(() => rm(directory, { recursive: true }))

test('a file is written with its directories, for the user alone', async () => {
  const file = join(directory, 'a', 'b', 'sign-in.json')
  await replaceFile(file, 'old')
  await replaceFile(file, 'new')
  expect(await readFile(file, 'utf8')).toBe('new')
  expect(await Promise.all([file, join(directory, 'a')].map(async path => (await stat(path)).mode & 0o777))).toEqual([
    0o600, 0o700,
  ])
})

test('a directory that cannot be made is named, with the way out', async () => {
  await writeFile(join(directory, 'file'), '')
  await mkdir(join(directory, 'taken', 'x.json'), { recursive: true })
  for (const file of [
    join(directory, 'file', 'berth', 'x.json'),
    join(directory, 'taken', 'x.json'),
    // As below an automounter: the directory above is there, and nothing can be made in it.
    '/proc/nobody/.config/berth/x.json',
  ])
    await expect(replaceFile(file, 'x')).rejects.toMatchObject({
      code: 'config_invalid',
      detail: { why: expect.stringMatching(/cannot be written.*BERTH_CONFIG_DIR/) as string },
    })
})
