import { expect, test } from 'vitest'
import { because, causeIn, together } from './causes.ts'
import { AppError, fromProblem, toProblem } from '../errors.ts'

test('a cause is a sentence with its values, and a key by which it is translated', () => {
  expect(because('password_wrong')).toEqual({ why: 'The password is wrong.', cause: 'password_wrong' })
  expect(because('member_already', { email: 'ann@example.org', name: '{email}' })).toEqual({
    why: 'ann@example.org is a member of "{email}" already.',
    cause: 'member_already',
    values: { email: 'ann@example.org', name: '{email}' },
  })
})

test('numbers choose between the singular and the plural', () => {
  const why = (count: number) => because('domain_has_users', { count }).why
  expect(why(1)).toBe('The domain has 1 user. Move them to another domain, inactive users too.')
  expect(why(3)).toBe('The domain has 3 users. Move them to another domain, inactive users too.')
})

test('large numbers are grouped', () => {
  expect(because('many_json_parts', { limit: 20_000 }).why).toBe(
    'The body has more than 20,000 members, objects and lists. Send several smaller requests.',
  )
})

test('a cause of several sentences has a key for each', () => {
  const both = together(because('still_members', { count: 2 }), because('purge_deletes', { name: 'vision' }))
  expect(both).toEqual({
    why: '2 members are still there. To delete these too, deactivate "vision" first, then delete it with "purge".',
    cause: 'still_members',
    values: { count: 2 },
    more: [{ cause: 'purge_deletes', values: { name: 'vision' } }],
  })
  expect(causeIn({ name: 'vision', ...both })).toEqual(both)
  expect(causeIn({ why: 'Newer.', cause: 'of_a_newer_server' })).toBeUndefined()
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
