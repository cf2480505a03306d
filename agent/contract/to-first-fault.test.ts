import { expect, test } from 'vitest'
import { z } from 'zod'
import { listOf, recordOf } from './to-first-fault.ts'

test('lists and records are read as those of zod, and up to their first fault', () => {
  const schema = z.object({
    list: listOf(z.coerce.number(), 3),
    record: recordOf(z.string().max(2), z.int()).default({}),
  })
  expect(schema.parse({ list: ['1', 2] })).toEqual({ list: [1, 2], record: {} })
  expect(schema.parse({ list: [], record: JSON.parse('{"a":1,"b":2}') as unknown })).toEqual({
    list: [],
    record: { a: 1, b: 2 },
  })
  const faults = (given: object) => schema.safeParse(given).error?.issues.length ?? 0
  expect(faults({ list: ['x', 'y', 'z'] })).toBe(1)
  expect(faults({ list: [1, 2, 3, 4] })).toBe(1)
  expect(faults({ list: [], record: { a: 'x', b: 'y' } })).toBe(1)
  expect(faults({ list: [], record: { long: 1 } })).toBe(1)
  for (const none of [undefined, null, 'x', {}]) expect(faults({ list: none })).toBe(1)
  for (const none of [null, 'text', [1]]) expect(faults({ list: [], record: none })).toBe(1)
  expect(recordOf(z.string(), z.int()).safeParse(undefined).success).toBe(false)
  const long = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`${at}`, 1]))
  expect(recordOf(z.string(), z.int()).safeParse(long).success).toBe(false)
})

test('the name __proto__ is one like others', () => {
  const read = recordOf(z.string(), z.unknown()).parse(JSON.parse('{"__proto__":{"a":1}}'))
  expect(Object.keys(read)).toEqual(['__proto__'])
  expect((read as { a?: unknown }).a).toBeUndefined()
})
