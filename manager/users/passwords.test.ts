import { expect, test } from 'vitest'
import { type AppError, UserId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { createPasswords, personAsking, strangerAt } from './passwords.ts'

const ANN = personAsking(newId(UserId))

test('hashes are Argon2id with our parameters, and only the right password verifies', async () => {
  const passwords = createPasswords()
  const stored = await passwords.hash('Correct-horse-1', ANN)
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await passwords.verify(stored, 'Correct-horse-1', ANN)).toBe(true)
  expect(await passwords.verify(stored, 'Correct-horse-2', ANN)).toBe(false)
  expect(await passwords.verify(undefined, 'no account has this password', ANN)).toBe(false)
})

test('an attempt at an account that does not exist takes as long as a wrong password', async () => {
  const passwords = createPasswords()
  const stored = await passwords.hash('Correct-horse-1', ANN)
  const timed = async (hash: string | undefined) => {
    const startedAt = performance.now()
    expect(await passwords.verify(hash, 'not the one', ANN)).toBe(false)
    return performance.now() - startedAt
  }
  // The fastest of three, alternating, because the load of other work on the machine varies.
  const [wrong, unknown]: [number[], number[]] = [[], []]
  for (let round = 0; round < 3; round++) {
    wrong.push(await timed(stored))
    unknown.push(await timed(undefined))
  }
  expect(Math.min(...unknown)).toBeGreaterThan(Math.min(...wrong) / 4)
})

test.each(['Sh0rt-x', 'no-digits-here', '12345678-', 'NoSpecial1', ''])('"%s" is too weak', async password => {
  await expect(createPasswords().hash(password, ANN)).rejects.toMatchObject({ code: 'weak_password' })
})

const outcomesOf = async (attempts: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(attempts)).map(each =>
    each.status === 'fulfilled' ? each.value : (each.reason as AppError).code,
  )
const many = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at))

test('attempts at accounts that do not exist share a hash, and keep nobody from signing in', async () => {
  const passwords = createPasswords()
  const stored = await passwords.hash('Correct-horse-1', ANN)
  const attempts = many(5_000, at => passwords.verify(undefined, 'x', strangerAt('127.0.0.1', `${at}@example.org`)))
  const right = passwords.verify(stored, 'Correct-horse-1', strangerAt('127.0.0.1', 'me@example.org'))
  expect(await right).toBe(true)
  expect(new Set(await outcomesOf(attempts))).toEqual(new Set([false]))
})

test('where the queue is full, the network that has most of it loses its last place', async () => {
  const passwords = createPasswords()
  const stored = await passwords.hash('Correct-horse-1', ANN)
  const attempt = (address: string, at: number) => passwords.verify(stored, 'x', strangerAt(address, `${at}`))
  const flood = outcomesOf(many(80, at => attempt('203.0.113.1', at)))
  const others = [
    attempt('203.0.113.2', 0),
    attempt('203.0.113.2', 1),
    passwords.verify(stored, 'Correct-horse-1', ANN),
  ]
  expect(await outcomesOf(others)).toEqual([false, false, true])
  const outcomes = await flood
  expect(outcomes.slice(0, 60)).toEqual(many(60, () => false))
  expect(outcomes.filter(outcome => outcome === 'rate_limited')).toHaveLength(80 + 3 - 2 - 64)
})

test('one person who is signed in does not fill the queue for the others', async () => {
  const passwords = createPasswords()
  const stored = await passwords.hash('Correct-horse-1', ANN)
  const others = many(3, () => personAsking(newId(UserId)))
  const early = others.map(other => passwords.verify(stored, 'Correct-horse-1', other))
  const flood = outcomesOf(many(80, () => passwords.verify(stored, 'x', ANN)))
  const late = others.map(other => passwords.verify(stored, 'Correct-horse-1', other))
  expect(await outcomesOf([...early, ...late])).toEqual(many(6, () => true))
  expect(new Set(await flood)).toEqual(new Set([false, 'rate_limited']))
})

test('a hash that cannot be read fails for its own attempt only', async () => {
  const passwords = createPasswords()
  const attempts = ['', undefined, undefined, 'no hash', undefined].map(stored => passwords.verify(stored, 'x', ANN))
  const outcomes = await Promise.allSettled(attempts)
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
})
