import { expect, test } from 'vitest'
import { compileMessage, placeholdersOf } from './compile-message.ts'

test('a message without placeholders is a text, and quoted braces are braces', () => {
  expect(compileMessage('en', 'Save')).toEqual({ text: 'Save' })
  expect(compileMessage('en', "Use '{name}' here")).toEqual({ text: 'Use {name} here' })
  expect(compileMessage('en', 'Run <code>berth up</code>')).toEqual({ text: 'Run <code>berth up</code>' })
})

test('a message with placeholders is a function that needs no parser', () => {
  expect(compileMessage('en', 'Wait {seconds, number} s')).toEqual({
    source: 'c=>""+"Wait "+number(c.named("seconds"))+" s"',
  })
  expect(compileMessage('en', '{n, plural, one {# row} other {# rows of {owner}}}')).toEqual({
    source: 'c=>""+plural("en",c.named("n"),{"one":n=>""+n+" row","other":n=>""+n+" rows of "+c.named("owner")})',
  })
})

test('names of placeholders are those of all branches', () => {
  expect(placeholdersOf('{n, plural, one {# row} other {# rows of {owner}}} in {place}')).toEqual([
    'n',
    'owner',
    'place',
  ])
})

test('faults of a message fail the build', () => {
  expect(() => compileMessage('en', '{n, plural, one {# row}}')).toThrow('MISSING_OTHER_CLAUSE')
  expect(() => compileMessage('en', 'from {day, date}')).toThrow(/not supported/)
})
