import { expect, test } from 'vitest'
import { patched } from './patch.ts'

const members = Array.from({ length: 10_000 }, (_, at) => ({ value: `id-${at}`, type: 'User' }))
const times = <T>(count: number, one: (at: number) => T) => Array.from({ length: count }, (_, at) => one(at))
const MANY = times(20, at => `value co "x${at}"`).join(' or ')

test('many members are removed one by one, as identity providers do', () => {
  const Operations = times(1_000, at => ({ op: 'remove', path: `members[value eq "ID-${at}"]` }))
  expect(patched({ members }, { Operations }).members).toEqual(members.slice(1_000))
})

test.each([
  ['filters', times(20, () => ({ op: 'remove', path: `members[${MANY}]` }))],
  ['filters that change', times(40, () => ({ op: 'replace', path: 'members[type eq "User"].display', value: 'x' }))],
  ['entries', [{ op: 'add', path: 'members', value: times(20_000, at => ({ value: `new-${at}` })) }]],
  ['entries, of nothing', times(3, at => ({ op: 'add', path: 'members', value: times(5_000, n => at * 5_000 + n) }))],
])('a request whose %s would take long is refused', (_, Operations) => {
  expect(() => patched({ members }, { Operations })).toThrow(expect.objectContaining({ scimType: 'tooMany' }))
})
