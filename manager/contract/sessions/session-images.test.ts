import { expect, test } from 'vitest'
import { MadeImageName, sessionImagePrefix } from './session-images.ts'

const of = (email: string, tail: string) => sessionImagePrefix({ id: `01a220c7-28c0-7830-8763-c0de${tail}`, email })

test('people whose addresses begin alike name their images apart, below a name that an image may have', () => {
  const prefixes = [
    of('ada@example.org', '00000001'),
    of('ada@example.com', '00000002'),
    of('a.d.a@example.org', '00000003'),
    of('a-d-a@example.org', '00000004'),
    of('+@example.org', '00000005'),
  ]
  expect(new Set(prefixes).size).toBe(prefixes.length)
  expect(prefixes[0]).toBe('users/ada-00000001/')
  for (const prefix of prefixes) expect(MadeImageName.safeParse(`${prefix}box:1`).success, prefix).toBe(true)
  // The prefix of one person is never the beginning of another person's.
  for (const [index, prefix] of prefixes.entries()) {
    expect(prefixes.filter((other, at) => at !== index && other.startsWith(prefix))).toEqual([])
  }
})

test.each([
  ['lab/torch:2', true],
  ['localhost:2', true],
  ['lab/localhost/torch:2', true],
  ['localhost/torch:2', false],
  ['cr.example.org/torch:2', false],
  ['a.b/c.d/torch:2', false],
  ['a.'.repeat(200_000), false],
])('a name without the host of a registry: %.30s', (name, isTaken) => {
  expect(MadeImageName.safeParse(name).success).toBe(isTaken)
})
