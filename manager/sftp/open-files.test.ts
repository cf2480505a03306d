import { expect, test } from 'vitest'
import { type OpenFile } from '../storage/open-file.ts'
import { FilledPart } from './filled-part.ts'
import { Handles } from './handles.ts'
import { createOpenFiles } from './open-files.ts'

const CONTENT = Buffer.from('0123456789')

/** A file of a storage that returns at most three bytes at a time. */
function open(size: number) {
  const positions: number[] = []
  const read = (into: Uint8Array, position: number) => {
    positions.push(position)
    return Promise.resolve(CONTENT.copy(into, 0, position, position + 3))
  }
  const file = { read, readParts: ([first]: readonly Uint8Array[], at: number) => read(first ?? Buffer.alloc(0), at) }
  const handles = new Handles()
  const handle = handles.add({
    kind: 'file',
    file: file as Partial<OpenFile> as OpenFile,
    folderId: 'folder' as never,
    directory: '',
    mayRead: true,
    mayWrite: false,
    appends: false,
    isOwn: false,
    size,
    isWritten: false,
    filled: new FilledPart(),
  })
  const unused = {} as never
  const tree = { require: () => Promise.resolve(unused), hold: () => Promise.resolve(unused) }
  const files = createOpenFiles({ handles, tree, spots: unused, quotas: unused, own: unused, noteChange: unused })
  return { positions, read: (at: number, parts: Uint8Array[]) => files.read(handle, at, parts) }
}

test('a read fills its parts although a storage returns fewer bytes at a time', async () => {
  const { read } = open(10)
  const parts = [Buffer.alloc(4), Buffer.alloc(4), Buffer.alloc(4)]
  expect(await read(0, parts)).toBe(10)
  expect(Buffer.concat(parts).toString('latin1')).toBe('0123456789\0\0')
})

test('the end of a file costs no further call, unless the file has grown or shrunk since it was opened', async () => {
  const [same, grown, shrunk] = [open(10), open(6), open(20)]
  expect(await same.read(8, [Buffer.alloc(10)])).toBe(2)
  expect(same.positions).toEqual([8])
  expect(await grown.read(7, [Buffer.alloc(10)])).toBe(3)
  expect(grown.positions).toEqual([7, 10])
  expect(await shrunk.read(9, [Buffer.alloc(10)])).toBe(1)
  expect(shrunk.positions).toEqual([9, 10])
  expect(await shrunk.read(10, [Buffer.alloc(10)])).toBe(0)
})
