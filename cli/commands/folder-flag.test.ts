import { expect, test } from 'vitest'
import { collectFolder } from './folder-flag.ts'

test.each([
  ['data', { folder: 'data' }],
  ['data:ro', { folder: 'data', readOnly: true }],
  ['data:/home/work/in', { folder: 'data', path: '/home/work/in' }],
  ['data:in/put:ro', { folder: 'data', path: 'in/put', readOnly: true }],
])('--folder %s', (text, expected) => {
  expect(collectFolder(text)).toEqual([expected])
})

test('may be repeated', () => {
  expect(collectFolder('b', collectFolder('a'))).toEqual([{ folder: 'a' }, { folder: 'b' }])
})

test.each(['', ':ro', 'data:/etc', 'data:../up', 'data:a//b', 'data:id_container'])('--folder %j is refused', text => {
  expect(() => collectFolder(text)).toThrow('It must be NAME')
})
