import { InvalidArgumentError } from 'commander'
import { expect, test } from 'vitest'
import { parseMoment } from './moment.ts'

const NOW = new Date('2026-05-04T10:30:00.000Z')
const local = (text: string) => new Date(text).toISOString()

test.each([
  ['2026-05-05T18:00Z', '2026-05-05T18:00:00.000Z'],
  ['2026-05-05T18:00:00+09:00', '2026-05-05T09:00:00.000Z'],
  ['2026-05-05 18:00', local('2026-05-05T18:00')],
  ['2028-02-29 10:00', local('2028-02-29T10:00')],
  ['+2h', '2026-05-04T12:30:00.000Z'],
  ['+90m', '2026-05-04T12:00:00.000Z'],
])('%s is accepted as a start time', (text, iso) => {
  expect(parseMoment(text, NOW)).toBe(iso)
})

test('a time of day means the next one', () => {
  const soon = new Date(NOW.getTime() + 600_000)
  const text = `${String(soon.getHours()).padStart(2, '0')}:${String(soon.getMinutes()).padStart(2, '0')}`
  expect(parseMoment(text, NOW)).toBe(soon.toISOString())
  const past = new Date(NOW.getTime() - 600_000)
  const before = `${String(past.getHours()).padStart(2, '0')}:${String(past.getMinutes()).padStart(2, '0')}`
  const tomorrow = new Date(past)
  tomorrow.setDate(tomorrow.getDate() + 1)
  expect(parseMoment(before, NOW)).toBe(tomorrow.toISOString())
})

test.each([
  'tomorrow',
  '25:00',
  '+',
  '12',
  '',
  '2027-02-29 10:00',
  '2027-04-31T10:00Z',
  '2027-02-30',
  '2027-13-01 10:00',
])('%j is not a start time', text => {
  expect(() => parseMoment(text, NOW)).toThrow(InvalidArgumentError)
})
