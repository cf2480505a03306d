import { expect, test } from 'vitest'
import { readAccountLines, readGroupLines } from './account-lines.ts'

test('ordinary lines are read as they are', () => {
  expect(readAccountLines('# accounts\nada:x:7:8:Ada,,,:/home/ada:\n\n')).toEqual({
    found: [{ name: 'ada', uid: 7, gid: 8, comment: 'Ada,,,', home: '/home/ada', shell: '' }],
    leftOut: 0,
  })
  expect(readGroupLines('Domain_Users:*:4294967294:a,b\n')).toEqual({
    found: [{ name: 'Domain_Users', gid: 4294967294, members: ['a', 'b'] }],
    leftOut: 0,
  })
})

test.each([
  ['fields are missing', 'ada'],
  ['there are too many', 'ada:x:7:8:::/bin/sh:more'],
  ['a name has other characters', 'a da:x:7:8:::'],
  ['it stands for a directory service', '+@staff:x:7:8:::'],
  ['an id is no number', 'ada:x:-1:8:::'],
  ['an id is above the largest', 'ada:x:4294967295:8:::'],
  ['it has control characters', 'ada:x:7:8:\u001b[2J::'],
  ['a carriage return ends it', 'ada:x:7:8:::/bin/sh\r'],
  ['its bytes are no UTF-8', Buffer.from('ada:x:7:8::/home/\xe9:', 'latin1').toString('utf8')],
  ['it is too long', `ada:x:7:8:${'x'.repeat(1024)}::`],
])('a line is left out and counted if %s', (_why, line) => {
  expect(readAccountLines(`${line}\nbob:x:9:9:::\n`)).toMatchObject({ found: [{ name: 'bob' }], leftOut: 1 })
})

test('of two accounts of one name the first counts, and a thousand count in all', () => {
  expect(readAccountLines('ada:x:7:8:::\nada:x:9:9:::\n')).toMatchObject({ found: [{ uid: 7 }], leftOut: 1 })
  const many = Array.from({ length: 1005 }, (_, i) => `u${i}:x:${i + 1}:1:::`).join('\n')
  const { found, leftOut } = readAccountLines(many)
  expect([found.length, leftOut]).toEqual([1000, 5])
})
