import { expect, test } from 'vitest'
import { localInput } from '../../ui/local-input.ts'
import { startFault } from './start-time.ts'

const NOW = new Date('2026-05-04T10:30:00')

test('a start time has to be ahead, within a year', () => {
  const fault = (text: string) => startFault(text, NOW.getTime())
  expect(fault('')).toBe('')
  expect(fault('2026-05-04T10:31')).toBe('')
  expect(fault('2026-05-04T10:30')).toBe('This time has passed')
  expect(fault('2027-06-01T00:00')).toBe('At most a year ahead')
  expect(fault('soon')).toBe('Not a valid time')
})

test('the field shows local time', () => {
  expect(localInput(NOW)).toBe('2026-05-04T10:30')
})
