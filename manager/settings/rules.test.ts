import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StoredSettings, SYSTEM_SETTINGS_DEFAULTS, type SystemSettingsChange } from '#manager/contract'
import { applyChange, isMailReady, parseSettings, refusal, toAuthOptions, toSystemSettings } from './rules.ts'

const MAIL = { smtpHost: 'mail.example.org', smtpFrom: 'b@example.org', publicUrl: 'https://b.example.org' } as const

test('any content of the database gives valid settings, and keeps valid ones', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...Object.keys(SYSTEM_SETTINGS_DEFAULTS), 'else'), fc.jsonValue()),
      kept => {
        const settings = parseSettings(kept)
        expect(StoredSettings.parse(settings)).toEqual(settings)
        for (const key of Object.keys(SYSTEM_SETTINGS_DEFAULTS) as (keyof StoredSettings)[]) {
          const given = StoredSettings.shape[key].safeParse(kept[key])
          expect(settings[key]).toEqual(given.success ? given.data : SYSTEM_SETTINGS_DEFAULTS[key])
        }
      },
    ),
  )
  for (const nothing of [undefined, null, 7, 'text', []])
    expect(parseSettings(nothing)).toEqual(SYSTEM_SETTINGS_DEFAULTS)
})

test('a change affects the named settings only, and never returns the password', () => {
  const change = { smtpPort: 25, smtpHost: null, smtpUser: undefined, smtpPassword: 'secret' } as SystemSettingsChange
  const changed = applyChange({ ...SYSTEM_SETTINGS_DEFAULTS, ...MAIL, smtpUser: 'berth' }, change)
  expect(changed).toEqual({ ...SYSTEM_SETTINGS_DEFAULTS, ...MAIL, smtpUser: 'berth', smtpPort: 25, smtpHost: null })
})

test.each([
  ['mail.example.org', 'starttls', 'berth', false],
  ['mail.example.org', 'none', null, false],
  ['mail.example.org', 'none', 'berth', true],
  ['127.0.0.1.example.org', 'none', 'berth', true],
  ['127.0.0.1', 'none', 'berth', false],
  ['localhost', 'none', 'berth', false],
  ['[::1]', 'none', 'berth', false],
] as const)(
  'mail to %s with %s as %s: a password in the clear is refused: %s',
  (smtpHost, smtpSecurity, smtpUser, refused) => {
    const settings = { ...SYSTEM_SETTINGS_DEFAULTS, smtpHost, smtpSecurity, smtpUser }
    expect(refusal(settings) !== undefined).toBe(refused)
  },
)

test('links are mailed only if server, sender, public address and, with a user, the password are set', () => {
  const all = { ...SYSTEM_SETTINGS_DEFAULTS, ...MAIL }
  expect(isMailReady(all, false)).toBe(true)
  for (const key of Object.keys(MAIL)) expect(isMailReady({ ...all, [key]: null }, true)).toBe(false)
  expect(isMailReady({ ...all, smtpUser: 'berth' }, false)).toBe(false)
  expect(isMailReady({ ...all, smtpUser: 'berth' }, true)).toBe(true)
})

test('strangers see what they may do, and nothing of the mail server', () => {
  const settings = toSystemSettings({ ...SYSTEM_SETTINGS_DEFAULTS, ...MAIL, allowSignUp: 'open' }, false)
  expect(toAuthOptions(settings)).toEqual({
    signUp: 'open',
    verification: 'mail',
    passwordReset: 'mail',
    passwordSignIn: 'everyone',
    idleSignOutMinutes: null,
    signUpEmailDomains: null,
    signUpNote: null,
    termsUrl: null,
    privacyUrl: null,
  })
  expect(toAuthOptions({ ...settings, mailReady: false })).toMatchObject({
    verification: 'admin',
    passwordReset: 'admin',
  })
  expect(toAuthOptions({ ...settings, requireEmailVerification: false })).toMatchObject({ verification: 'none' })
})
