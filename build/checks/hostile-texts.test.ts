import { expect, test } from 'vitest'
import { z } from 'zod'
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

const TOO_LONG = textsOf(MOST).filter(text => text.endsWith(END))

test('no text takes long: neither the longest that a request can hold nor the longest that a field takes', () => {
  const slow: string[] = []
  const seen = new Set<string>()
  for (const [name, root] of receivedSchemas()) {
    for (const field of textFields(name, root)) {
      const { path, schema } = field
      if (seen.has(workOf(field))) continue
      seen.add(workOf(field))
      const most = Math.min((schema as z.ZodString).maxLength ?? 1_000, MOST_TAKEN)
      for (const text of [...TOO_LONG, ...textsOf(most)]) {
        if (microseconds(() => z.safeParse(schema, text)) > MOST_US)
          slow.push(`${path} ${JSON.stringify(text.slice(0, 10))}`)
      }
    }
  }
  expect(slow).toEqual([])
})
