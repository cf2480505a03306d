import { expect, test } from 'vitest'
import { type FolderId } from '#manager/contract'
import { downloadOf, putDrag } from './drag-files.ts'
import { type Entry } from '../../../data/files/files-client.ts'

const FOLDER = '01900000-0000-7000-8000-000000000001' as FolderId
const PAGE = 'https://berth.example/#/folders/x'
const CONTENT = `https://berth.example/api/v1/folders/${FOLDER}/content`

test('a file is offered with its name and the address of its bytes', () => {
  expect(downloadOf('a b.csv', FOLDER, 'data/a b.csv', PAGE)).toBe(
    `application/octet-stream:a b.csv:${CONTENT}?path=data%2Fa%20b.csv&download=1`,
  )
})

test('a name has neither parts of its own nor directories', () => {
  expect(downloadOf('..\\x:https://evil.example', FOLDER, 'x', PAGE)).toBe(
    `application/octet-stream:.._x_https___evil.example:${CONTENT}?path=x&download=1`,
  )
})

test.each([
  ['one file', 'file', ['a'], true],
  ['several files', 'file', ['a', 'b'], false],
  ['a directory', 'directory', ['a'], false],
  ['a link', 'link', ['a'], false],
] as const)('%s: a drag out of the page gives a file: %s', (_, kind, paths, isOffered) => {
  const data = new Map<string, string>()
  const dataTransfer = { setData: (type: string, text: string) => void data.set(type, text), effectAllowed: 'none' }
  const entry = { name: 'a', kind, size: 1, modifiedAt: '2030-01-01T00:00:00Z' } as Entry
  // The page of the test has no address of its own.
  Object.assign(globalThis, { location: { href: PAGE } })
  putDrag({ dataTransfer } as unknown as DragEvent, { folderId: FOLDER, paths }, entry)
  expect(data.has('DownloadURL')).toBe(isOffered)
  expect(dataTransfer.effectAllowed).toBe('copyMove')
})
