import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseAmount } from '#manager/contract'
import { amountFault } from './amount-fault.ts'

test.each([
  ['cpu', '1,5', 'Use a point, not a comma: 1.5'],
  ['cpu', '-1', 'Cannot be less than 0'],
  ['cpu', '1.2345', 'At most 3 decimals'],
  ['cpu', 'abc', 'Not a number: write digits, such as 1.5'],
  ['cpu', '', 'Enter an amount such as 1.5'],
  ['cpu', '1.5', ''],
  ['cuda.device', '1.5', 'Only whole numbers'],
  ['cuda.shares', '0.125', 'At most 2 decimals'],
  ['mem', '1,5', 'Use a point, not a comma: 1.5'],
  ['mem', '4 gigs', 'Not an amount of memory: write 4 GiB or 512 MiB'],
  ['mem', '4', ''],
  ['mem', '512 MiB', ''],
  ['cpu', '1,000,000', 'Use digits and a point, such as 1.5'],
] as const)('%s “%s”: %s', (slot, typed, fault) => expect(amountFault(slot, typed)).toBe(fault))

test('exactly the texts that are not amounts have a fault', () => {
  const text = fc.string({ unit: fc.constantFrom(...'0 1 2 5 9 . , - g GiB m'.split(' '), ' '), maxLength: 8 })
  fc.assert(
    fc.property(text, typed => {
      expect(amountFault('cpu', typed) === '').toBe(parseAmount('cpu', typed) !== undefined)
    }),
  )
})
