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
    const items = [item('done', 1), item('queued', 2), item('running', 3), item('failed', 4), item('cancelled', 5)]
    expect(shownFirst(items, 3).map(({ id }) => id)).toEqual([4, 3, 2])
  })
})
