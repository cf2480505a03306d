import { execFile } from 'node:child_process'
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { diskUse } from './disk-use.ts'

const { signal } = new AbortController()
let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'berth-test-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

async function du(...options: string[]): Promise<number> {
  const { stdout } = await promisify(execFile)('du', [...options, '--', home])
  return Number.parseInt(stdout, 10)
}

test.each([
  { files: 3, what: 'a few files' },
  { files: 400, what: 'many files' },
])('$what are counted as du does: hard links once, links not followed', async ({ files }) => {
  await mkdir(join(home, 'a/b'), { recursive: true })
  for (let i = 0; i < files; i++) await writeFile(join(home, 'a/b', String(i)), 'x'.repeat(i * 50))
  await link(join(home, 'a/b/2'), join(home, 'again'))
  await symlink('/usr', join(home, 'usr'))
  expect(await diskUse(home, signal)).toEqual({ bytes: (await du('-sxk')) * 1024, inodes: await du('-sx', '--inodes') })
})

test('a directory that is gone has no figure', async () => {
  expect(await diskUse(join(home, 'gone'), signal)).toBeUndefined()
})
