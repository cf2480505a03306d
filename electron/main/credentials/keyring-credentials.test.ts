import { expect, test } from 'vitest'
import { openKeyringCredentials, type OpenEntry } from './keyring-credentials.ts'

function aKeyring(): { open: OpenEntry; values: Map<string, string> } {
  const values = new Map<string, string>()
  return {
    values,
    open: (service, account) => ({
      setPassword: password => Promise.resolve(void values.set(`${service}/${account}`, password)),
      getPassword: () => Promise.resolve(values.get(`${service}/${account}`) ?? null),
      deleteCredential: () => Promise.resolve(values.delete(`${service}/${account}`)),
    }),
  }
}

test('tokens are kept per endpoint in the credential store, and the probe leaves nothing behind', async () => {
  const { open, values } = aKeyring()
  const store = await openKeyringCredentials(open)
  expect(store.persistent).toBe(true)
  await store.set('https://a.example', 'token-a')
  expect(await store.get('https://a.example')).toBe('token-a')
  expect(await store.get('https://b.example')).toBeNull()
  await store.delete('https://a.example')
  expect(values.size).toBe(0)
})

test('a locked store, which answers reads with "absent", is not trusted with a token', async () => {
  const locked: OpenEntry = () => ({
    setPassword: () => Promise.resolve(),
    getPassword: () => Promise.resolve(null),
    deleteCredential: () => Promise.resolve(false),
  })
  const store = await openKeyringCredentials(locked)
  expect(store.persistent).toBe(false)
  expect(store.reason).toContain('locked')
})

test('without a store the token stays in memory, and the user learns why', async () => {
  const store = await openKeyringCredentials(() => {
    throw new Error('no Secret Service')
  })
  await store.set('https://a.example', 'token')
  expect(await store.get('https://a.example')).toBe('token')
  expect(store).toMatchObject({ persistent: false, reason: expect.stringContaining('no Secret Service') as string })
})
