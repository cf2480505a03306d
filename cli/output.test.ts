import { expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { describeFailure, jsonText, printable, table } from './output.ts'

test('colours of a log are shown; other control sequences are not', () => {
  expect(printable('\u001b[31mred\u001b[0m\tone\r\ntwo\n')).toBe('\u001b[31mred\u001b[0m\tone\r\ntwo\n')
  expect(printable('\u001b]52;c;ZXZpbA==\u0007x\u001b[2J\u009b2J\b')).toBe('�]52;c;ZXZpbA==�x�[2J�2J�')
})

test('no line overwrites itself, and none changes the direction of writing', () => {
  expect(printable('rm -rf /\recho ok\nnext\r\n')).toBe('rm -rf /\ufffdecho ok\nnext\r\n')
  expect(printable('a\u202eb\u2066c\u200f')).toBe('a\ufffdb\ufffdc\ufffd')
})

test('JSON has escapes in place of characters that a terminal obeys', () => {
  const value = { 'a\u009d0;title\u007f': ['\u001b[2J\u009b2J', '\u202etxt.exe\u2066', 'é한'] }
  expect(jsonText(value)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e\u2066]/)
  expect(jsonText(value)).toContain('é한')
  expect(JSON.parse(jsonText(value))).toEqual(value)
  expect(describeFailure(new AppError('app_failed', { why: '\u009b2J' }), true)).not.toContain('\u009b')
})

test('the name of a file makes no row of its own', () => {
  expect(table(['NAME', 'SIZE'], [['a\nfree 1 TB', '2']])).toBe('NAME         SIZE\na\ufffdfree 1 TB  2')
})

test('a failure quotes the words of a container without its control sequences', () => {
  const error = new AppError('app_failed', { why: 'The end of its output: \u001b]0;title\u0007' })
  expect(describeFailure(error, false)).not.toMatch(/[\u0007\u001b]/)
})

test('with --json every failure has a code, unknown ones too', () => {
  expect(JSON.parse(describeFailure(new AppError('session_not_found', { id: 'x' }), true))).toEqual({
    error: { code: 'session_not_found', message: 'No such session', detail: { id: 'x' } },
  })
  expect(JSON.parse(describeFailure(new Error('EACCES: no'), true))).toMatchObject({
    error: { code: 'internal', message: 'Unexpected failure: EACCES: no' },
  })
})

test('every refused field is named once', () => {
  const fields = [
    { path: 'name', message: 'is too short' },
    { path: 'count', message: 'must be positive' },
  ]
  const error = new AppError('bad_request', { why: 'name: is too short (and 1 more)', fields })
  expect(describeFailure(error, false)).toBe(
    'berth: The request is not valid: name: is too short (and 1 more) (bad_request)\n  count: must be positive',
  )
})
