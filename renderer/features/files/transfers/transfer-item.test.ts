import { describe, expect, test } from 'vitest'
import { type FolderId } from '#manager/contract'
import { nextToStart, shownFirst, totalsOf, type Batch, type TransferStatus } from './transfer-item.ts'

const item = (status: TransferStatus, id = 1, size = 10, sent = 0) => ({ status, id, size, sent })
const one: Batch = { folderId: 'f' as FolderId, onConflict: null, asking: Promise.resolve(null) }
const queuedItem = (
  status: TransferStatus,
  id: number,
  more: { isSingle?: boolean; batch?: Batch; address?: string } = {},
) => ({
  ...item(status, id),
  batch: one,
  address: null,
  isSingle: false,
  group: null,
  ...more,
})
const fileItem = (status: TransferStatus, id: number, path: string, batch = one) => ({
  ...item(status, id),
  path: `in/${path}`,
  source: { path },
  batch,
})
const idsOf = (groups: readonly (readonly { id: number }[])[]) => groups.map(group => group.map(({ id }) => id))

describe('the queue of transfers', () => {
  test('as many transfers start as there are free places, in order', () => {
    const items = (['running', 'queued', 'waiting', 'queued', 'queued'] as const).map((status, n) =>
      queuedItem(status, n + 1),
    )
    expect(idsOf(nextToStart(items, 4, 100))).toEqual([[2], [4]])
    expect(nextToStart(items, 2, 100)).toEqual([])
    expect(nextToStart([queuedItem('paused', 1), queuedItem('failed', 2), queuedItem('conflict', 3)], 4, 100)).toEqual(
      [],
    )
  })

  test('puts many files of one batch together; large ones and those that have begun go by themselves', () => {
    const other: Batch = { ...one }
    const items = [
      queuedItem('queued', 1, { isSingle: true }),
      ...Array.from({ length: 20 }, (_, n) => queuedItem('queued', n + 2)),
      queuedItem('queued', 30, { address: '/u/1' }),
      queuedItem('queued', 31, { batch: other }),
    ]
    const ids = idsOf(nextToStart(items, 9, 12))
    expect(ids.slice(0, 3)).toEqual([
      [1],
      Array.from({ length: 12 }, (_, n) => n + 2),
      Array.from({ length: 8 }, (_, n) => n + 14),
    ])
    expect(ids.slice(3)).toEqual([[30], [31]])
  })

  test('counts files of one request as one place', () => {
    const group = [queuedItem('running', 1), queuedItem('running', 2)]
    const running = group.map(each => ({ ...each, group: group as never }))
    expect(idsOf(nextToStart([...running, queuedItem('queued', 3), queuedItem('queued', 4)], 2, 100))).toEqual([[3]])
  })

  test('the sum of what is left excludes cancelled transfers', () => {
    expect(
      totalsOf([
        item('done', 1, 10, 10),
        item('running', 2, 20, 5),
        item('failed', 3),
        item('cancelled'),
        item('paused', 4),
      ]),
    ).toEqual({ files: 4, filesDone: 1, failed: 1, pending: 1, paused: 1, bytes: 50, bytesSent: 15 })
  })

  test('transfers that need attention come first', () => {
    const statuses = ['done', 'queued', 'running', 'failed', 'cancelled'] as const
    const items = statuses.map((status, n) => fileItem(status, n + 1, `f${n}`))
    expect(shownFirst(items, 3).map(row => row.kind === 'file' && row.item.id)).toEqual([4, 3, 2])
  })

  test('a directory is one row, beside its files that need somebody; another upload of the same name is another row', () => {
    const other: Batch = { ...one }
    const items = [
      fileItem('done', 1, 'set/a'),
      fileItem('done', 2, 'set/deep/b'),
      fileItem('failed', 3, 'set/c'),
      fileItem('cancelled', 4, 'set/d'),
      fileItem('done', 5, 'single'),
      fileItem('done', 6, 'set/e', other),
      fileItem('queued', 7, 'set/f', other),
    ]
    expect(shownFirst(items, 9)).toMatchObject([
      { kind: 'file', item: { id: 3 } },
      { kind: 'directory', path: 'in/set', status: 'running', files: 2, filesDone: 1, ids: [6, 7] },
      { kind: 'directory', path: 'in/set', status: 'done', files: 2, bytes: 20, ids: [1, 2] },
      { kind: 'file', item: { id: 5 } },
    ])
  })
})
