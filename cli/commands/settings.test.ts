import { expect, test } from 'vitest'
import { parseChanges } from './settings.ts'

test('values are read by the form of their key', () => {
  const changes = ['smtpPort=465', 'requireEmailVerification=false', 'smtpUser=42', 'smtpHost=null', 'termsUrl=']
  expect(parseChanges(changes)).toEqual({
    smtpPort: 465,
    requireEmailVerification: false,
    smtpUser: '42',
    smtpHost: null,
    termsUrl: null,
  })
  expect(parseChanges(['publicUrl=https://berth.example.org/a?=b'.split('?')[0] ?? ''])).toEqual({
    publicUrl: 'https://berth.example.org/a',
  })
})

test.each([
  ['smtpPort=many', 'smtpPort'],
  ['allowSignUp=all', 'allowSignUp'],
  ['nothing', 'key=value'],
  ['toString=1', 'key=value'],
  ['smtpPassword=secret', '--smtp-password'],
])('%s is refused, naming what is wrong', (change, words) => {
  expect(() => parseChanges([change])).toThrow(words)
})
