import { expect, test } from 'vitest'
import { AppError, type ErrorCode } from '#manager/contract'
import { exitCodeOf } from './exit-codes.ts'
import { Interrupted } from './interrupt.ts'

test.each<[ErrorCode, number]>([
  ['bad_request', 2],
  ['not_signed_in', 3],
  ['forbidden', 3],
  ['session_not_found', 4],
  ['image_not_found', 4],
  ['session_name_taken', 1],
  ['unavailable', 1],
])('%s exits with %i', (code, exit) => {
  expect(exitCodeOf(new AppError(code))).toBe(exit)
})

test('an unknown failure exits with 1', () => {
  expect(exitCodeOf(new Error('boom'))).toBe(1)
})

test('an interrupted command exits with the code that a shell uses for the signal, also in a prompt', () => {
  expect(exitCodeOf(new Interrupted('SIGINT'))).toBe(130)
  expect(exitCodeOf(new Interrupted('SIGTERM'))).toBe(143)
  expect(exitCodeOf(new DOMException('Aborted with Ctrl+C', 'AbortError'))).toBe(130)
})
