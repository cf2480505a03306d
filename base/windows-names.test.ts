import { expect, test } from 'vitest'
import { isNameOfDevice } from './windows-names.ts'

test.each(['CON', 'con.txt', 'aux .txt', 'nul.tar.gz', 'COM1', 'lpt\u00b2', 'ConIn$', 'prn.'])(
  '%s is a device of Windows',
  name => expect(isNameOfDevice(name)).toBe(true),
)
test.each(['auxiliary', 'CONTROL', 'a.con', 'com10', 'xCON', '.con', ''])('%s is none', name =>
  expect(isNameOfDevice(name)).toBe(false),
)
