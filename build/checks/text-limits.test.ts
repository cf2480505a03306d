import { expect, test } from 'vitest'
import { z } from 'zod'
import { listOf } from '../../agent/contract/to-first-fault.ts'
import { CleanLine, TextUpTo, TrimmedText } from '#manager/contract'
import { lengthFault, receivedSchemas, textFields } from '../../test/fixtures/text-fields.ts'

const faultsOf = (name: string, schema: z.ZodType) =>
  textFields(name, schema).flatMap(field => {
    const fault = lengthFault(field)
    return fault === undefined ? [] : [`${field.path} ${fault}`]
  })

test('every text that we receive has a maximum, and nothing looks at a longer one', () => {
  const schemas = [...receivedSchemas()]
  expect(schemas.flatMap(([name, schema]) => textFields(name, schema)).length).toBeGreaterThan(500)
  expect(schemas.flatMap(([name, schema]) => faultsOf(name, schema))).toEqual([])
})

test.each<[string, z.ZodType]>([
  ['has no maximum', z.string()],
  ['goes on after its maximum', z.string().max(5)],
  ['has regex before a maximum', z.string().regex(/a/).max(5, { abort: true })],
  ['has custom before a maximum', z.string().refine(Boolean)],
  [
    'has overwrite before a maximum',
    z
      .string()
      .overwrite(text => text.replace(/ +$/, ''))
      .max(5, { abort: true }),
  ],
  ['has email before a maximum', z.email().max(5, { abort: true })],
])('a text that %s is found, wherever it is', (fault, text) => {
  expect(faultsOf('it', text)).toEqual([`it ${fault}`])
  const deep = z.object({ a: z.array(z.union([z.number(), text.optional()])) }).refine(Boolean)
  expect(faultsOf('it', deep)).toEqual([`it.a[] ${fault}`])
  expect(faultsOf('it', listOf(text))).toEqual([`it[] ${fault}`])
  expect(faultsOf('it', z.record(text as z.ZodType<string>, z.number()))).toEqual([`it{key} ${fault}`])
})

test.each<[string, z.ZodType]>([
  ['a text up to a length', TextUpTo(5).regex(/a/)],
  ['a trimmed one', TrimmedText(5)],
  ['one that is cut', CleanLine(5)],
  ['a yes or no', z.stringbool()],
  ['an id', z.uuid()],
])('%s is none of them', (_what, text) => {
  expect(faultsOf('it', text)).toEqual([])
})
