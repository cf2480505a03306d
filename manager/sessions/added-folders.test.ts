import { expect, test } from 'vitest'
import { type KernelMounts } from '#agent/contract'
import { FolderId, type PendingFolder, SessionId } from '#manager/contract'
import { type SessionFolderRow } from '../store/sessions/session-folders.ts'
import { repairsOf, whyFixed } from './added-folders.ts'

const id = (end: number) => `01900000-0000-7000-8000-${String(end).padStart(12, '0')}`
const marker = id(9)
const folder = (end: number) => FolderId.parse(id(end))

function aRow(end: number, pending: PendingFolder | null = null, added = true): SessionFolderRow {
  const session_id = SessionId.parse(id(1))
  return {
    session_id,
    folder_id: folder(end),
    name: `f${end}`,
    path: `f${end}`,
    read_only: false,
    added,
    pending,
    marker,
  }
}
const has = (...ends: number[]): KernelMounts => ({
  closed: null,
  folders: ends.map(end => ({ storage: marker, folder: folder(end), path: `f${end}`, readOnly: false })),
})
const done = (...given: Parameters<typeof repairsOf>) =>
  repairsOf(...given).map(one => `${one.do} ${'folder_id' in one.folder ? one.folder.name : one.folder.path}`)

test.each([
  ['nothing', [aRow(2), aRow(3, null, false)], [has(2)], []],
  ['a mount whose answer was lost', [aRow(2, 'mount')], [has(2)], ['confirm f2']],
  ['a request that never arrived', [aRow(2, 'mount')], [has()], ['mount f2']],
  ['a mount that is gone', [aRow(2)], [has()], ['mount f2']],
  ['a folder that is to go', [aRow(2, 'unmount')], [has(2)], ['unmount f2']],
  ['a folder that has gone', [aRow(2, 'unmount')], [has()], ['forget f2']],
  ['a mount without a record', [], [has(2), has(2)], ['record f2']],
  ['one kernel of two', [aRow(2)], [has(2), has()], ['mount f2']],
  ['one kernel of two, to go', [aRow(2, 'unmount')], [has(2), has()], ['unmount f2']],
])('%s', (_what, rows, kernels, expected) => {
  expect(done(rows, kernels)).toEqual(expected)
})

test('the folders of a session are fixed until all its kernels say otherwise', () => {
  const closed = { closed: 'Older.', closedBy: { cause: 'folders_container_older' }, folders: [] }
  expect(whyFixed([has(), has(2)])).toBeUndefined()
  expect(whyFixed([])?.cause).toBe('folders_not_told')
  expect(whyFixed([has(), undefined])?.cause).toBe('folders_not_told')
  expect(whyFixed([has(), closed])?.cause).toBe('folders_container_older')
  expect(whyFixed([{ closed: 'In other words.', folders: [] }])?.why).toBe('In other words.')
})
