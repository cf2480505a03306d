/** A calendar month of this computer's time zone. */
export interface Month {
  /** As in the address: `2026-11`. */
  readonly key: string
  readonly from: Date
  /** The beginning of the next month. */
  readonly to: Date
}

const monthAt = (year: number, month: number): Month => {
  const from = new Date(year, month, 1)
  const key = `${String(from.getFullYear()).padStart(4, '0')}-${String(from.getMonth() + 1).padStart(2, '0')}`
  return { key, from, to: new Date(year, month + 1, 1) }
}

/** The month of a moment and those before it, the newest first. */
export function monthsUntil(now: Date, count: number): readonly Month[] {
  return Array.from({ length: count }, (_, index) => monthAt(now.getFullYear(), now.getMonth() - index))
}
