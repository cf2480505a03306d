import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { treeBelow } from './tree-below.ts'

const SECRET_BYTES = 12_345
let directory: string
let home: string
let host: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-'))
  home = join(directory, 'home')
  host = join(directory, 'host')
  await mkdir(join(home, 'a/b'), { recursive: true })
  await writeFile(join(home, 'a/b/own'), 'x')
  await mkdir(join(host, 'b'), { recursive: true })
  await writeFile(join(host, 'b/secret'), Buffer.alloc(SECRET_BYTES))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

/** Sizes of the files in the home, whose folder `a` is replaced by a link to the host after so many folders were seen. */
async function sizes(swapAfter: number): Promise<number[]> {
  const found: number[] = []
  let folders = 0
  for await (const entry of treeBelow(home)) {
    if (entry.isFile()) found.push(entry.size)
    if (!entry.isDirectory() || ++folders !== swapAfter) continue
    await rename(join(home, 'a'), join(directory, 'away'))
    await symlink(host, join(home, 'a'))
  }
  return found
}

test('a directory that is swapped for a link after it was seen is not entered', async () => {
  expect(await sizes(1)).toEqual([])
})

test('if an entered directory is swapped for a link, the walk continues in the original directory', async () => {
  expect(await sizes(2)).toEqual([1])
})

test('a name that is not UTF-8 hides no file, and a tree that is too deep is refused', async () => {
  await promisify(execFile)('sh', ['-c', 'printf 12345 > "$(printf "$0/\\377")"', home])
  expect((await sizes(0)).toSorted()).toEqual([1, 5])
  await mkdir(join(home, 'deep/'.repeat(130)), { recursive: true })
  await expect(sizes(0)).rejects.toThrow('too deeply')
})
