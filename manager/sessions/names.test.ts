import { expect, test } from 'vitest'
import { SessionName } from '#manager/contract'
import { freeName } from './import.ts'
import { generateName, sessionNames } from './names.ts'

test('a generated name is valid', () => {
  for (let round = 0; round < 200; round++) expect(SessionName.safeParse(generateName()).success).toBe(true)
})

test('several sessions get numbered, valid names', () => {
  expect(sessionNames('batch', 1)).toEqual(['batch'])
  expect(sessionNames('batch', 3)).toEqual(['batch-1', 'batch-2', 'batch-3'])
  expect(() => sessionNames('x'.repeat(63), 2)).toThrow(expect.objectContaining({ code: 'bad_request' }))
})

test('an imported session whose name is taken gets the next free one', () => {
  expect(freeName('work', new Set())).toBe('work')
  expect(freeName('work', new Set(['work', 'work-2']))).toBe('work-3')
  expect(freeName('x'.repeat(64), new Set(['x'.repeat(64)]))).toBe(`${'x'.repeat(62)}-2`)
})
