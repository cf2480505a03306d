import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { sayFormErrorsPlainly } from './form-errors.ts'

const before = { ...z.config() }
beforeAll(sayFormErrorsPlainly)
afterAll(() => void z.config(before))

test.each<[z.ZodType, unknown, string]>([
  [z.string(), undefined, 'is missing'],
  [z.string(), 5, 'must be a text'],
  [z.number(), '5', 'must be a number'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.number().int(), 1.5, 'must be a whole number'],
  [z.boolean(), 'yes', 'must be true or false'],
  [z.object({}), [], 'must be an object'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(8), 'a', 'must have at least 8 characters'],
  [z.string().max(1), 'ab', 'must have at most 1 character'],
  [z.string().length(2), 'a', 'must have exactly 2 characters'],
  [z.array(z.string()).max(3), ['', '', '', ''], 'must have at most 3 entries'],
  [z.number().min(1), 0, 'must be at least 1'],
  [z.number().max(365), 400, 'must be at most 365'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.enum(['fifo', 'lifo', 'drf']), 'x', 'must be fifo, lifo or drf'],
  [z.literal('a'), 'b', 'must be a'],
  [z.email(), 'ada', 'must be an e-mail address, such as ada@example.org'],
  [z.uuid(), 'x', 'must be an id'],
  [z.iso.datetime(), 'x', 'must be a time such as 2026-01-31T12:00:00Z'],
  [z.strictObject({}), { cpus: 1 }, 'must not have a field "cpus"'],
  [z.record(z.uuid(), z.number()), { ada: 1 }, 'has a key that does not fit: must be an id'],
  [z.union([z.string(), z.number()]), true, 'is not valid'],
  [z.string().regex(/a/, 'must hold an a'), 'b', 'must hold an a'],
])('%#: the message names the field in plain words: %s', (schema, value, said) => {
  expect(schema.safeParse(value).error?.issues[0]?.message).toBe(said)
})
