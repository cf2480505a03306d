import { expect, test } from 'vitest'
import { readTags } from './read-tags.ts'

test.each([
  ['', [], null],
  ['  thesis, run/3 #gpu thesis ', ['thesis', 'run/3', 'gpu'], null],
  ['실험/3 논문', ['실험/3', '논문'], null],
  ['good -bad', ['good', '-bad'], 'form'],
  ['x'.repeat(33), ['x'.repeat(33)], 'form'],
])('“%s” are the tags %j', (text, tags, fault) => {
  expect(readTags(text)).toEqual({ tags, fault })
})

test('more than twenty tags are too many', () => {
  const many = Array.from({ length: 21 }, (_, index) => `t${index}`).join(' ')
  expect(readTags(many).fault).toBe('count')
})
