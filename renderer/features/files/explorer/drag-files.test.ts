import { beforeEach, expect, test, vi } from 'vitest'
import { type FolderId } from '#manager/contract'
import { downloadOf, endDrag, putDrag, readDrag } from './drag-files.ts'
import { type Entry } from '../../../data/files/files-client.ts'

const FOLDER = '01900000-0000-7000-8000-000000000001' as FolderId
const PAGE = 'https://berth.example/#/folders/x'
const CONTENT = `https://berth.example/api/v1/folders/${FOLDER}/content`

beforeEach(() => {
  const kept = new Map<string, string>()
  // The page of the test has neither an address nor storage of its own.
  vi.stubGlobal('location', { href: PAGE })
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, text: string) => void kept.set(key, text),
    removeItem: (key: string) => void kept.delete(key),
  })
})

/** A drag as the page that it began in sees it, and as the page that it ends in sees it. */
function aDrag() {
  const data = new Map<string, string>()
  const dataTransfer = {
    setData: (type: string, text: string) => void data.set(type, text),
    getData: (type: string) => data.get(type) ?? '',
    effectAllowed: 'none',
  }
  return { data, event: { dataTransfer } as unknown as DragEvent }
}

test('tabs of the console know the drags of each other, and none that another page forged', () => {
  const files = { folderId: FOLDER, paths: ['private/a', 'b'] }
  const forged = aDrag()
  for (const mark of [undefined, null, '']) {
    forged.data.set('application/x-berth-files', JSON.stringify({ ...files, mark }))
    expect(readDrag(forged.event)).toBeUndefined()
  }

  const own = aDrag()
  putDrag(own.event, files)
  expect(readDrag(own.event)).toEqual(files)
  expect(readDrag(forged.event)).toBeUndefined()

  // A page that got the data of a drag by a drop cannot use it for others.
  endDrag()
  expect(readDrag(own.event)).toBeUndefined()
})

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
  putDrag({ dataTransfer } as unknown as DragEvent, { folderId: FOLDER, paths }, entry)
  expect(data.has('DownloadURL')).toBe(isOffered)
  expect(dataTransfer.effectAllowed).toBe('copyMove')
})
