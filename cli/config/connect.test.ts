import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { connectBySignIn } from './connect.ts'
import { removeSignIn, writeSignIn } from './sign-in.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-'))
  vi.stubEnv('BERTH_CONFIG_DIR', directory)
  vi.stubEnv('BERTH_ENDPOINT', undefined)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(directory, { recursive: true })
})

const signIn = (token: string, changes: object = {}) =>
  writeSignIn({
    endpoint: 'http://localhost:8400',
    userId: 'u',
    email: 'a@localhost',
    token,
    expiresAt: '2030-01-01T00:00:00Z',
    ...changes,
  })
const REQUEST = { method: 'GET', url: 'http://localhost:8400/', body: undefined }

test('a command that outlives its sign-in continues with the next one of the same user, and of no other', async () => {
  await signIn('first')
  const { credentials } = await connectBySignIn()
  await signIn('second')
  expect(await credentials(REQUEST)).toEqual({ authorization: 'Bearer second' })
  await signIn('of another user', { userId: 'v' })
  expect(await credentials(REQUEST)).toEqual({ authorization: 'Bearer second' })
  await signIn('of another Berth', { endpoint: 'http://localhost:1' })
  expect(await credentials(REQUEST)).toEqual({ authorization: 'Bearer second' })
})

test('without a sign-in, the error says so', async () => {
  await signIn('first')
  const { credentials } = await connectBySignIn()
  await removeSignIn()
  await expect(credentials(REQUEST)).rejects.toMatchObject({ code: 'not_signed_in' })
})

test.each([
  ['http://127.0.0.1:8400', 'http://localhost:8400'],
  ['http://localhost:8400/', 'http://127.0.0.1:8400'],
  ['https://[::1]', 'https://localhost:443'],
])('an address of this computer, %s, leads to the sign-in at %s', async (wanted, endpoint) => {
  await signIn('mine', { endpoint })
  vi.stubEnv('BERTH_ENDPOINT', wanted)
  expect((await connectBySignIn()).endpoint).toBe(endpoint)
})

test.each([
  ['http://127.0.0.1:8401', 'http://localhost:8400'],
  ['https://127.0.0.1:8400', 'http://localhost:8400'],
  // Another program may listen there.
  ['http://127.0.0.2:8400', 'http://127.0.0.1:8400'],
  ['http://berth.example.org:8400', 'http://localhost:8400'],
  ['no address', 'http://localhost:8400'],
])('%s is another Berth than the sign-in at %s', async (wanted, endpoint) => {
  await signIn('mine', { endpoint })
  vi.stubEnv('BERTH_ENDPOINT', wanted)
  await expect(connectBySignIn()).rejects.toMatchObject({ code: 'not_signed_in' })
})
