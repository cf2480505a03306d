import { describe, expect, test } from 'vitest'
import { type Folder, FolderName } from '#manager/contract'
import { aFolder } from '../../testing/a-folder.ts'
import { filterFolders, mountsItself, ownerText, readFolderView, sortFolders, writeFolderView } from './folder-list.ts'
import { folderNameFault } from './folder-name.ts'

const VISION = { id: '01990000-0000-7000-8000-0000000000b2', name: 'vision' } as NonNullable<Folder['group']>
const named = (index: number, name: string, change: Partial<Folder> = {}) =>
  aFolder(index, { name: FolderName.parse(name), ...change })
const MINE = { ownerId: aFolder(1).ownerId, group: null }
const THEIRS = { ownerId: null, group: VISION }

test('the view is written to the address and read back; unknown values are dropped', () => {
  for (const query of [
    {},
    { tab: 'trash' },
    { tab: 'automount' },
    { q: 'data', sort: '-created' },
    { tab: 'trash', sort: 'name' },
  ]) {
    expect(writeFolderView(readFolderView(query))).toEqual(query)
  }
  expect(writeFolderView(readFolderView({ tab: 'nowhere', sort: '-weight', q: ['a', 'b'] }))).toEqual({})
})

test('own folders whose names begin with a dot are mounted by themselves, those of others are not', () => {
  const mine = [named(1, '.local'), named(2, 'local'), named(3, '.ssh', { ownerId: null })]
  expect(mine.filter(folder => mountsItself(folder, MINE.ownerId)).map(({ name }) => name)).toEqual(['.local'])
})

test('search and sort use the owner as shown, and numbers in names by value', () => {
  const ownerOf = (folder: Folder) => ownerText(folder, MINE.ownerId)
  const folders = [named(1, 'run-10'), named(2, 'run-9'), named(3, 'models', THEIRS)]
  const sorted = (key: 'name' | 'owner') =>
    sortFolders(folders, { key, descending: false }, ownerOf).map(({ name }) => name)
  expect(sorted('name')).toEqual(['models', 'run-9', 'run-10'])
  expect(sorted('owner')).toEqual(['models', 'run-9', 'run-10'])
  expect(filterFolders(folders, 'VISION mod', ownerOf).map(({ name }) => name)).toEqual(['models'])
  expect(filterFolders(folders, 'you vision', ownerOf)).toEqual([])
})

test('folders are sorted by their size, those that are not counted at the small end', () => {
  const sized = (n: number, name: string, bytes: number | null) =>
    named(n, name, { usage: bytes === null ? null : { bytes, files: 1, measuredAt: '2026-11-01T00:00:00.000Z' } })
  const folders = [sized(1, 'small', 9), sized(2, 'unknown', null), sized(3, 'large', 1e12), sized(4, 'empty', 0)]
  const largestFirst = sortFolders(folders, { key: 'size', descending: true }, () => '')
  expect(largestFirst.map(({ name }) => name)).toEqual(['large', 'small', 'empty', 'unknown'])
})

describe('the name of a folder', () => {
  const others = [named(1, 'Taken'), named(2, 'shared', THEIRS)]

  test.each([
    ['', 'Enter a name'],
    ['my data', 'No spaces; use “-” instead'],
    ['a/b', '“/” is not allowed: letters, digits, “-”, “_” and “.”'],
    ['데이터', '“데” is not allowed: letters, digits, “-”, “_” and “.”'],
    ['..', 'Must begin with a letter or digit, or a dot and one of these'],
    ['-x', 'Must begin with a letter or digit, or a dot and one of these'],
    ['a'.repeat(64), 'At most 63 characters'],
    ['.bashrc', 'Sessions use this name themselves; choose another'],
    ['taken', 'There is a folder “Taken” already'],
    ['shared', ''],
    ['.local', ''],
  ])('the name %j: %s', (name, fault) => {
    expect(folderNameFault(name, MINE, others)).toBe(fault)
  })

  test('a folder of a project has no leading dot, and its name has to differ only from folders of the project', () => {
    expect(folderNameFault('.local', THEIRS, others)).toContain('cannot begin with a dot')
    expect(folderNameFault('taken', THEIRS, others)).toBe('')
    expect(folderNameFault('Shared', THEIRS, others)).toContain('already')
  })

  test('the page refuses a name exactly if the manager does', () => {
    for (const name of [
      'a',
      '.a',
      'a'.repeat(63),
      `.${'a'.repeat(63)}`,
      `.${'a'.repeat(64)}`,
      'a.b_c-',
      '.tmux.conf',
      'id_container',
      '_a',
      '.',
      'é',
    ]) {
      expect([name, folderNameFault(name, MINE, []) === '']).toEqual([name, FolderName.safeParse(name).success])
    }
  })
})
