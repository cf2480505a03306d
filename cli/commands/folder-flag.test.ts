import { expect, test } from 'vitest'
import { FolderId } from '#manager/contract'
import { changedFolders, collectFolder } from './folder-flag.ts'

test.each([
  ['data', { folder: 'data' }],
  ['data:ro', { folder: 'data', readOnly: true }],
  ['data:/home/work/in', { folder: 'data', path: '/home/work/in' }],
  ['data:in/put:ro', { folder: 'data', path: 'in/put', readOnly: true }],
])('--folder %s is parsed', (text, expected) => {
  expect(collectFolder(text)).toEqual([expected])
})

test('--folder may be repeated', () => {
  expect(collectFolder('b', collectFolder('a'))).toEqual([{ folder: 'a' }, { folder: 'b' }])
})

test.each(['', ':ro', 'data:/etc', 'data:../up', 'data:a//b', 'data:id_container'])('--folder %j is refused', text => {
  expect(() => collectFolder(text)).toThrow('The value must be NAME')
})

test('a restarted session has its folders, plus added ones, minus those to leave out', () => {
  const id = FolderId.parse('01990000-0000-7000-8000-000000000001')
  const had = [
    { folderId: id, name: 'data', path: '/home/work/data', readOnly: true },
    {
      folderId: FolderId.parse('01990000-0000-7000-8000-000000000002'),
      name: 'old',
      path: '/home/work/old',
      readOnly: false,
    },
  ]
  const own = { folders: had, launchedBy: null }
  expect(changedFolders(own, {})).toBeUndefined()
  expect(changedFolders(own, { folder: collectFolder('more:in'), withoutFolder: ['Old'] })).toEqual([
    { folder: id, path: '/home/work/data', readOnly: true },
    { folder: 'more', path: 'in' },
  ])
  expect(changedFolders(own, { withoutFolder: [id, 'old'] })).toEqual([])
  expect(() => changedFolders(own, { withoutFolder: ['none'] })).toThrow('no folder "none"')
  // Folders that an admin chose are taken over only with the rest of the admin's choices.
  const launched = { folders: had, launchedBy: 'admin@localhost' }
  expect(changedFolders(launched, { withoutFolder: ['old'], folder: collectFolder('more') })).toEqual([
    { folder: 'more' },
  ])
  expect(changedFolders(launched, { withoutFolder: ['old'], keepCommand: true })).toEqual([
    { folder: id, path: '/home/work/data', readOnly: true },
  ])
})
