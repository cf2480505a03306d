import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { writeTarGz } from './tar-folder.ts'
import { normalizeTree, treeOf } from './tree.ts'

const temporary = mkdtempSync(join(tmpdir(), 'berth-tar-'))
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

test('an archive depends on names, contents and executable bits only', async () => {
  const digest = async (name: string, order: readonly string[], mode: number) => {
    const folder = join(temporary, name)
    mkdirSync(join(folder, 'sub'), { recursive: true })
    for (const file of order) writeFileSync(join(folder, file), file, { mode })
    symlinkSync('b', join(folder, 'link'))
    chmodSync(join(folder, 'b'), mode | 0o100)
    utimesSync(join(folder, 'b'), order.length, mode)
    await writeTarGz(folder, `${folder}.tar.gz`, { prefix: 'x', seconds: 1000 })
    return createHash('sha256')
      .update(readFileSync(`${folder}.tar.gz`))
      .digest('hex')
  }
  const first = await digest('first', ['b', 'sub/c', 'a'], 0o600)
  expect(await digest('second', ['a', 'b', 'sub/c'], 0o664)).toBe(first)
  expect(await digest('third', ['a', 'b', 'sub/d'], 0o664)).not.toBe(first)
})

test('a tree for packagers has two modes and one time', () => {
  const folder = join(temporary, 'first')
  normalizeTree(folder, 1000)
  expect(treeOf(folder)).toEqual([
    { path: 'a', type: 'file', executable: false, size: 1 },
    { path: 'b', type: 'file', executable: true, size: 1 },
    { path: 'link', type: 'symlink', executable: true, size: 0, link: 'b' },
    { path: 'sub', type: 'directory', executable: true, size: 0 },
    { path: 'sub/c', type: 'file', executable: false, size: 5 },
  ])
})
