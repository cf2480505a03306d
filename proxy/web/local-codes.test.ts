import { expect, test } from 'vitest'
import { CODE_SECONDS, createLocalCodes } from './local-codes.ts'

const ABOUT = { email: 'mira@example.org', browser: 'Firefox', uid: 1000 }

test('a code is shown, confirmed once, and exchanged once, by the browser that asked', () => {
  const codes = createLocalCodes(() => 0)
  const code = codes.ask('mine', ABOUT)
  expect(code).toMatch(/^[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}$/)
  expect(codes.find(code.toLowerCase().replace('-', ' '))).toEqual({ ...ABOUT, secondsAgo: 0 })
  expect(codes.take(code, 'mine')).toBeUndefined()
  expect(codes.confirm(code, 'computer')).toBe(true)
  // A replay of the command, and another browser that has the code.
  expect(codes.confirm(code, 'account')).toBe(false)
  expect(codes.find(code)).toBeUndefined()
  expect(codes.take(code, 'yours')).toBeUndefined()
  expect(codes.take(code, 'mine')).toBe('computer')
  expect(codes.take(code, 'mine')).toBeUndefined()
})

test('a code ends with its time and with the next one of its browser', () => {
  let now = 0
  const codes = createLocalCodes(() => now)
  const first = codes.ask('mine', ABOUT)
  const second = codes.ask('mine', ABOUT)
  expect(codes.confirm(first, 'account')).toBe(false)
  now = CODE_SECONDS * 1_000 - 1
  expect(codes.find(second)).toMatchObject({ secondsAgo: CODE_SECONDS })
  now++
  expect(codes.confirm(second, 'account')).toBe(false)
  expect(codes.confirm('', 'account')).toBe(false)
})

test('waiting browsers are bounded', () => {
  const codes = createLocalCodes(() => 0)
  const first = codes.ask('0', ABOUT)
  for (let index = 1; index <= 1_000; index++) codes.ask(String(index), ABOUT)
  expect(codes.find(first)).toBeUndefined()
})
