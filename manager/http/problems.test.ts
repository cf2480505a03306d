import { expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { toAppError } from './problems.ts'

const failed = (code: string) => Object.assign(new Error('from the database'), { code })

test.each([
  ['53100', 'disk_full'],
  ['22021', 'bad_request'],
  ['22P05', 'bad_request'],
  ['53300', 'unavailable'],
  ['57P01', 'unavailable'],
  ['57014', 'unavailable'],
  ['55P03', 'unavailable'],
  ['ECONNREFUSED', 'unavailable'],
  ['23505', 'internal'],
])('a failure %s of the database is reported as %s', (code, told) => {
  expect(toAppError(failed(code)).code).toBe(told)
})

test('an AppError is passed on unchanged', () => {
  const error = new AppError('forbidden')
  expect(toAppError(error)).toBe(error)
})
