import { expect, test } from 'vitest'
import { SystemSettings } from '#manager/contract'
import { createRedactor } from './redact-secrets.ts'
import { plainNamesOf } from './plain-names.ts'

const PEM = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END PRIVATE KEY-----'
const { text, value } = createRedactor({ known: ['plain words'], addresses: true })

test.each([
  ['a token of ours', 'login berth_aB3dEfGhIjKlMnOpQrStUvWxYz0123456789_-abcde done', 'aB3dEf'],
  ['a join string', 'joined with berth-join:eyJ1cmwiOiJodHRwOi8vMTI3LjAuMC4xIn0', 'eyJ1'],
  ['a password of a URL', 'connect postgresql://berth:s3/c@ret@db:5432/berth failed', 's3/c'],
  ['a password with a name', 'smtp password=hunter2, port 25', 'hunter2'],
  ['a quoted secret', `client_secret: 'two words' refused`, 'two words'],
  ['a header', 'Cookie: berth=abc; other=def', 'def'],
  ['a bearer token', 'sent Bearer abc.def-123', 'abc.def'],
  ['a private key', `key ${PEM} end`, 'MC4CAQ'],
  ['a private key that was cut', `key ${PEM.slice(0, 45)}`, 'MC4CAQ'],
  ['a query of a URL', 'GET /x?token=abcd&n=1', 'abcd'],
  ['a key of an authenticator', 'totp JBSWY3DPEHPK3PXPJBSWY3DPEH', 'JBSWY'],
  ['a known secret', 'it said: plain words!', 'plain words'],
  ['an e-mail address', 'mira@example.com signed in', 'mira'],
])('%s is blanked', (_name, given, secret) => {
  const clean = text(given)
  expect(clean).not.toContain(secret)
  expect(clean).toMatch(/\[blanked\]|person-1/)
})

test.each([
  'agent 0198a1b2-0000-7000-8000-000000000001 is away',
  `image sha256:${'a1'.repeat(32)}`,
  '/var/lib/docker/overlay2 has 12.3 GiB',
  '0033-sign-in-providers, http://127.0.0.1:8400/healthz',
])('%s stays', given => expect(text(given)).toBe(given))

test('values below the name of a secret are blanked, and whether one is set is not', () => {
  const given = { smtpPassword: 'x', smtpPasswordSet: true, list: [{ clientSecret: { a: 1 }, port: 25 }], token: null }
  const clean = { smtpPassword: '[blanked]', smtpPasswordSet: true, list: [{ clientSecret: '[blanked]', port: 25 }] }
  expect(value(given)).toEqual({ ...clean, token: null })
})

test('settings that cannot be a secret stay, whatever their names', () => {
  const plainNames = plainNamesOf(SystemSettings)
  const { value } = createRedactor({ known: [], plainNames, addresses: true })
  const plain = { tokenDays: 30, passwordSignIn: 'everyone', changes: { tokenDays: { at: '2026-01-31' } } }
  expect(value({ ...plain, smtpPassword: 'hunter2', token: 'abc' })).toEqual({
    ...plain,
    smtpPassword: '[blanked]',
    token: '[blanked]',
  })
  // A text may contain anything, including a password.
  expect(plainNames).not.toContain('smtpHost')
})

test('an address keeps one name, and can stay', () => {
  expect(text('a@b.org c@d.org A@b.org')).toMatch(/^(person-\d+) (?!\1)person-\d+ \1$/)
  expect(createRedactor({ known: [], addresses: false }).text('a@b.org')).toBe('a@b.org')
})
