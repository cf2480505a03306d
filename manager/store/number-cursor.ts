import { AppError, because } from '#manager/contract'

/** The number of the row after which a page of a list begins. @throws AppError `bad_request` */
export function numberCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new AppError('bad_request', because('cursor_wrong'))
  return Number(cursor)
}
