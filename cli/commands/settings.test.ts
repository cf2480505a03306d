import { expect, test } from 'vitest'
import { sayFormErrorsPlainly, type SystemSettings } from '#manager/contract'
import { parseChanges, settingsTable } from './settings.ts'

test('values are parsed by the type of their key', () => {
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

test('the message for a number out of range has the range', () => {
  sayFormErrorsPlainly()
  expect(() => parseChanges(['tokenDays=0'])).toThrow('tokenDays: must be at least 1')
  expect(() => parseChanges(['smtpPort=999999'])).toThrow('smtpPort: must be at most 65535')
  expect(() => parseChanges(['browserIdleHours=-1'])).toThrow('browserIdleHours: must be at least 1')
  expect(() => parseChanges(['auditDays=7'])).toThrow('auditDays: must be at least 30')
})

test('the period of an announcement is given in local times', () => {
  expect(parseChanges(['announcementFrom=2026-05-04 18:00', 'announcementUntil='])).toEqual({
    announcementFrom: new Date('2026-05-04T18:00').toISOString(),
    announcementUntil: null,
  })
  expect(() => parseChanges(['announcementUntil=soon'])).toThrow('2026-05-04 18:00')
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

test('mail is called set, not ready, before a mail was sent; without it, the missing settings are named', () => {
  const shown = (mailReady: boolean) => settingsTable({ mailReady, changes: {} } as unknown as SystemSettings)
  expect(shown(true)).toContain('set (test-mail tries it)')
  expect(shown(false)).toContain('no: needs smtpHost, smtpFrom and publicUrl')
})
