import { expect, test } from 'vitest'
import { z } from 'zod'
import { partsOf } from '#agent/contract'
import { microseconds } from '../../test/fixtures/processor-time.ts'
import { receivedSchemas, textFields, workOf } from '../../test/fixtures/text-fields.ts'

/** The largest body of a request, in characters. */
const MOST = 2 ** 20
/** The longest text that anything looks at. Longer ones are only passed on. */
const MOST_TAKEN = 200_000
/** Microseconds of processor time for one value. Honest ones take less than a thousandth. */
const MOST_US = 500_000

/** Each is repeated. Patterns that read a text again and again do so on one of these. */
const PIECES = [
  ...['a', 'a.', 'a/', 'a-', 'a-a_a.', '.', '/', ' ', '\n', '0', '1.', '1:', ':', '@', 'a@', ',', '=', '-'],
  ...['가', '\u0301', 'e\u0301\u0323', '😀', '\ud800'],
]
/** Makes many patterns fail at the last character. */
const END = '!'

const texts = new Map<number, readonly string[]>()

/** A text of so many characters for each piece, with and without the end. Made once: to make them takes longer than to read them. */
function textsOf(length: number): readonly string[] {
  const made =
    texts.get(length) ??
    PIECES.flatMap(piece => {
      const text = piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
      return [text, text.slice(1) + END]
    })
  texts.set(length, made)
  return made
}

/** Too long for any field. The shorter ones come first, because a slow field would take an hour for the longest. */
const TOO_LONG = [100_000, MOST].flatMap(textsOf).filter(text => text.endsWith(END))

test('no text takes long: neither the longest that a request can hold nor the longest that a field takes', () => {
  const slow: string[] = []
  const seen = new Set<string>()
  for (const [name, root] of receivedSchemas()) {
    for (const field of textFields(name, root)) {
      const { path, schema } = field
      if (seen.has(workOf(field))) continue
      seen.add(workOf(field))
      const most = Math.min((schema as z.ZodString).maxLength ?? 1_000, MOST_TAKEN)
      const isSlow = (text: string) => microseconds(() => z.safeParse(schema, text)) > MOST_US
      const found = [...textsOf(most), ...TOO_LONG].find(isSlow)
      if (found !== undefined) slow.push(`${path} ${JSON.stringify(found.slice(0, 10))}`)
    }
  }
  expect(slow).toEqual([])
})

/** Characters of one text in a list: enough of them for the lists to be as long as a body can hold. */
const SHORT = 12

/**
 * A value of the right shape with as many entries in its lists and records as they take and `room` characters hold. All texts differ, as
 * in a list that is checked for pairs.
 */
function full(schema: z.core.$ZodType, text: (most: number) => string, room: number): unknown {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const parts = partsOf(schema)
  const many = (most = Infinity) => Array.from({ length: Math.min(most, Math.ceil(room / SHORT)) })
  const record = (key: z.core.$ZodType, value: z.core.$ZodType): unknown =>
    Object.fromEntries(many(1_000).map(() => [full(key, text, SHORT), full(value, text, SHORT)] as const))
  if (parts?.['[]']) return many().map(() => full(parts['[]'] as z.ZodType, text, SHORT))
  if (parts?.['{key}'] && parts['{}']) return record(parts['{key}'], parts['{}'])
  if (def.type === 'string') return text((schema as z.ZodString).maxLength ?? SHORT)
  if (def.type === 'object') {
    const fields = Object.entries(def.shape)
    return Object.fromEntries(fields.map(([key, value]) => [key, full(value, text, room / fields.length)]))
  }
  if (def.type === 'array')
    return many(schema._zod.bag.maximum as number | undefined).map(() => full(def.element, text, SHORT))
  if (def.type === 'tuple') return def.items.map(item => full(item, text, room / def.items.length))
  if (def.type === 'record') return record(def.keyType, def.valueType)
  if (def.type === 'union') return full(def.options.at(-1) as z.core.$ZodType, text, room)
  if (def.type === 'pipe') return full(def.in, text, room)
  if (def.type === 'optional' || def.type === 'nullable' || def.type === 'default')
    return full(def.innerType, text, room)
  if (def.type === 'literal') return def.values[0]
  if (def.type === 'enum') return Object.values(def.entries)[0]
  return def.type === 'boolean' ? true : 1
}

test('no list takes long that fills a body', () => {
  let made = 0
  const text = (most: number) => `${made++}`.padStart(SHORT, 'a').slice(-most)
  const slow = [...receivedSchemas()].flatMap(([name, schema]) => {
    const value = full(schema, text, MOST / 4)
    return microseconds(() => schema.safeParse(value)) > MOST_US ? [name] : []
  })
  expect(slow).toEqual([])
})
