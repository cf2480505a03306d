import { expect, test } from 'vitest'
import { createPasswords } from './passwords.ts'

test('hashes are Argon2id with our parameters, and only the right password verifies', async () => {
  const passwords = createPasswords()
  const stored = await passwords.hash('Correct-horse-1')
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await passwords.verify(stored, 'Correct-horse-1')).toBe(true)
  expect(await passwords.verify(stored, 'Correct-horse-2')).toBe(false)
  expect(await passwords.verify(undefined, 'no account has this password')).toBe(false)
})

test.each(['Sh0rt-x', 'no-digits-here', '12345678-', 'NoSpecial1', ''])('"%s" is too weak', async password => {
  await expect(createPasswords().hash(password)).rejects.toMatchObject({ code: 'weak_password' })
})

test('a flood of passwords is refused instead of queued without limit', async () => {
  const passwords = createPasswords()
  const outcomes = await Promise.allSettled(Array.from({ length: 90 }, () => passwords.verify(undefined, 'x')))
  const refused = outcomes.filter(outcome => outcome.status === 'rejected')
  expect(refused.length).toBeGreaterThan(0)
  expect(refused[0]?.reason).toMatchObject({ code: 'rate_limited' })
  expect(await passwords.verify(undefined, 'x')).toBe(false)
})
