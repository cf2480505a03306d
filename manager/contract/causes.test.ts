import { expect, test } from 'vitest'
import { because } from './causes.ts'
import { AppError, fromProblem, toProblem } from './errors.ts'

test('a cause is a sentence with its values, and a key by which it is translated', () => {
  expect(because('password_wrong')).toEqual({ why: 'The password is wrong.', cause: 'password_wrong' })
  expect(because('member_already', { email: 'ann@example.org', name: '{email}' })).toEqual({
    why: 'ann@example.org is a member of "{email}" already.',
    cause: 'member_already',
    values: { email: 'ann@example.org', name: '{email}' },
  })
})

test('a cause reaches a client of the API', () => {
  const sent = new AppError('file_exists', { name: 'a.txt', ...because('file_there', { name: 'a.txt' }) })
  const problem = toProblem(sent)
  expect(problem.detail).toBe('"a.txt" exists already.')
  expect(fromProblem(problem).detail).toEqual({
    name: 'a.txt',
    why: '"a.txt" exists already.',
    cause: 'file_there',
    values: { name: 'a.txt' },
  })
})
