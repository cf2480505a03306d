import { describe, expect, test } from 'vitest'
import { FolderName, mountPath, StoragePaths } from './folders.ts'

describe('names of folders', () => {
  test.each(['data', 'a', 'My-Data_2.1', '.ssh', '.local', `a${'b'.repeat(62)}`])('%j is a valid name', name => {
    expect(FolderName.safeParse(name).success).toBe(true)
  })

  test.each([
    '',
    '.',
    '..',
    'a/b',
    '-a',
    ' a',
    'a b',
    'ä',
    '.bashrc',
    '.jupyter',
    '.profile_profile',
    'id_container',
    'a'.repeat(65),
  ])('%j is not a valid name', name => {
    expect(FolderName.safeParse(name).success).toBe(false)
  })
})

describe('the mount path of a folder', () => {
  test.each([
    ['data', 'data'],
    ['/home/work/data/', 'data'],
    ['in/put', 'in/put'],
    ['/home/work/my data', 'my data'],
  ])('%j is mounted at %j', (path, expected) => {
    expect(mountPath(path)).toBe(expected)
  })

  test.each([
    '',
    '/',
    '/etc',
    '/home/work',
    '/home/work/',
    '/home/worker/x',
    '..',
    'a/../b',
    'a/./b',
    'a//b',
    'a\0b',
    'a\nb',
    '.bashrc',
    'id_container',
    'id_container/x',
    'x'.repeat(256),
    'ä'.repeat(128),
    `${'x/'.repeat(501)}x`,
  ])('%j is refused', path => {
    expect(mountPath(path)).toBeUndefined()
  })
})

test('the setting of storages accepts absolute paths only', () => {
  expect(StoragePaths.parse('local=/srv/berth, archive=/mnt/a=b/')).toEqual(
    new Map([
      ['local', '/srv/berth'],
      ['archive', '/mnt/a=b'],
    ]),
  )
  for (const text of ['', 'local', 'local=', 'local=srv', 'Local=/srv', 'a=/x,a=/y', 'a=/x,,b=/y']) {
    expect(StoragePaths.safeParse(text).success, text).toBe(false)
  }
})
