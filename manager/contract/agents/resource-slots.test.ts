import { expect, test } from 'vitest'
import { WireSlots } from './resource-slots.ts'

test('half a GPU as whole devices is refused with the name of the slot for parts', () => {
  const said = (slots: object) => WireSlots.safeParse(slots).error?.issues[0]?.message
  expect(said({ 'cuda.device': '0.5' })).toBe(
    'must be a whole number of GPUs, such as "2"; a part of a GPU is an amount of "cuda.shares"',
  )
  expect(said({ 'cuda.shares': '0.333' })).toBe('must be a number of GPUs in steps of 0.01, such as "0.5"')
  expect(said({ 'cuda.device': '2', 'cuda.shares': '0.5' })).toBeUndefined()
})
