import { AppError, because } from '#manager/contract'

/**
 * The number of items before a page, from its cursor, for lists that are sorted in memory. If the list changes between two pages, an item
 * may be repeated or missing.
 *
 * @throws AppError `bad_request` for an invalid cursor
 */
export function parseOffset(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  if (!/^[1-9]\d{0,6}$/.test(cursor)) throw new AppError('bad_request', because('cursor_wrong'))
  return Number(cursor)
}

/** @returns null after the last page, also where the list became shorter meanwhile */
export function nextOffset({ start, count, total }: { start: number; count: number; total: number }): string | null {
  return count > 0 && start + count < total ? String(start + count) : null
}
