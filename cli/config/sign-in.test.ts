import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readSignIn, removeSignIn, writeSignIn } from './sign-in.ts'

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-'))))
afterEach(() => rm(directory, { recursive: true }))

const signIn = {
  endpoint: 'http://localhost:8400',
  userId: 'u',
  email: 'a@localhost',
  token: 'berth_x',
  expiresAt: '2030-01-01T00:00:00Z',
}

test('a stored sign-in is readable by its owner only and can be read back', async () => {
  await writeSignIn(signIn, directory)
  expect(await readSignIn(directory)).toEqual(signIn)
  expect((await stat(join(directory, 'sign-in.json'))).mode & 0o777).toBe(0o600)
})

test('a missing, a removed and a damaged sign-in have an error with the next step', async () => {
  await expect(readSignIn(directory)).rejects.toMatchObject({ code: 'not_signed_in' })
  await writeSignIn(signIn, directory)
  await removeSignIn(directory)
  await expect(readSignIn(directory)).rejects.toMatchObject({ code: 'not_signed_in' })
  await writeFile(join(directory, 'sign-in.json'), '{')
  await expect(readSignIn(directory)).rejects.toThrow(/berth login/)
})
