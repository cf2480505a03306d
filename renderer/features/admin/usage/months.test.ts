import { expect, test } from 'vitest'
import { monthsUntil } from './months.ts'

test('months follow each other without gaps, also over the end of a year and from the last day of a month', () => {
  const months = monthsUntil(new Date(2026, 2, 31, 23, 59), 5)
  expect(months.map(({ key }) => key)).toEqual(['2026-03', '2026-02', '2026-01', '2025-12', '2025-11'])
  for (const [index, { from }] of months.entries()) {
    expect(from.getDate()).toBe(1)
    if (index > 0) expect(months[index]?.to).toEqual(months[index - 1]?.from)
  }
})
