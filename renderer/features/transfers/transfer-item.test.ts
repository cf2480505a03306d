import { describe, expect, test } from 'vitest'
import { nextToStart, shownFirst, totalsOf, type TransferStatus } from './transfer-item.ts'

const item = (status: TransferStatus, id = 1, size = 10, sent = 0) => ({ status, id, size, sent })

describe('the queue of transfers', () => {
  test('as many transfers start as there are free places, in order', () => {
    const items = [item('running', 1), item('queued', 2), item('waiting', 3), item('queued', 4), item('queued', 5)]
    expect(nextToStart(items, 4).map(({ id }) => id)).toEqual([2, 4])
    expect(nextToStart(items, 2)).toEqual([])
    expect(nextToStart([item('paused'), item('failed'), item('conflict')], 4)).toEqual([])
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
