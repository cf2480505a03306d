import { execFile } from 'node:child_process'
import { link, mkdir, mkdtemp, rename, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { measureTree } from './measure-tree.ts'

const run = promisify(execFile)
const never = new AbortController().signal

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'berth-test-measure-'))
})
afterEach(() => run('rm', ['-rf', root]))

test('bytes on disk are counted as du does, hard links once, and each name of any kind', async () => {
  await mkdir(join(root, 'a/b'), { recursive: true })
  await writeFile(join(root, 'a/large'), Buffer.alloc(1_000_000, 1))
  await link(join(root, 'a/large'), join(root, 'a/b/again'))
  await writeFile(join(root, 'sparse'), '')
  await truncate(join(root, 'sparse'), 2 ** 40)
  await writeFile(join(root, 'odd\nname \u00e4'), 'x')
  await symlink('/usr', join(root, 'away'))
  const { stdout } = await run('du', [
    '-s',
    '--block-size=1',
    join(root, 'a'),
    join(root, 'sparse'),
    join(root, 'odd\nname \u00e4'),
  ])
  const expected = [...stdout.matchAll(/^(\d+)\t/gm)].reduce((sum, [, bytes]) => sum + Number(bytes), 0)
  const measured = await measureTree(root, never)
  expect(measured.files).toBe(7)
  // A link that is stored in its inode has no blocks.
  expect(measured.bytes - expected).toBeLessThanOrEqual(4096)
  expect(measured.bytes - expected).toBeGreaterThanOrEqual(0)
})

test('a tree that is deeper than the longest path is counted, and a directory that is swapped for a link leads nowhere', async () => {
  const script =
    "const name = 'a'.repeat(20); for (let i = 0; i < 400; i++) { fs.mkdirSync(name); process.chdir(name) }"
  await run(process.execPath, ['-e', script], { cwd: root })
  expect(await measureTree(root, never)).toMatchObject({ files: 400 })
  await run('rm', ['-rf', join(root, 'a'.repeat(20))])

  await mkdir(join(root, 'swapped'), { recursive: true })
  await symlink('/usr', join(root, 'link'))
  const ending = new AbortController()
  const swapping = (async () => {
    while (!ending.signal.aborted) {
      await rename(join(root, 'swapped'), join(root, 'aside'))
      await rename(join(root, 'link'), join(root, 'swapped'))
      await rename(join(root, 'swapped'), join(root, 'link'))
      await rename(join(root, 'aside'), join(root, 'swapped'))
    }
  })()
  for (let round = 0; round < 30; round++) expect((await measureTree(root, never)).files).toBeLessThanOrEqual(4)
  ending.abort()
  await swapping
})

test('a count can be cancelled', async () => {
  const ending = new AbortController()
  const counting = measureTree('/usr', ending.signal)
  ending.abort()
  await expect(counting).rejects.toThrow('aborted')
  await expect(measureTree('/usr', ending.signal)).rejects.toThrow('aborted')
})
