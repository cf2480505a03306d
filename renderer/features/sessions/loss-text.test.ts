import { expect, test } from 'vitest'
import { type Ending, lossText } from './loss-text.ts'

const folder = (name: string) => ({ name }) as NonNullable<Ending['folders']>[number]
const session = (...names: string[]): Ending => ({ clusterSize: 1, folders: names.map(folder) })

test('folders whose files stay are named, and the rest of the home is kept for a while', () => {
  expect(lossText([session('dataset', 'results')])).toBe(
    'Programs in it stop at once. <b>Files in dataset, results stay.</b> The rest of its home is kept for about a day while there is room; everything else is deleted. Copy what you need first, for example with SFTP.',
  )
})

test('without a folder, that is said first', () => {
  expect(lossText([session()])).toContain('<b>No folder is mounted.</b> Its home is kept')
})

test('many folders, and those that a list does not tell, are not named', () => {
  expect(lossText([session('a', 'b'), session('c', 'd')])).toContain('<b>Files in mounted folders stay.</b>')
  expect(lossText([{ clusterSize: 1 }])).toContain('<b>Files in mounted folders stay.</b>')
})

test('homes of sessions with several containers are deleted', () => {
  expect(lossText([{ clusterSize: 2, folders: [folder('dataset')] }])).toContain(
    '<b>Files in dataset stay.</b> Everything else is deleted.',
  )
  expect(lossText([{ clusterSize: 2, folders: [] }, session()])).toContain(
    'Homes of sessions with one container are kept',
  )
})

test('where nothing stays, all files are deleted', () => {
  expect(lossText([{ clusterSize: 2, folders: [] }])).toBe(
    'Programs in it stop at once. <b>All files are deleted.</b> Copy what you need first, for example with SFTP.',
  )
})
