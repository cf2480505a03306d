import { expect, test, vi } from 'vitest'
import { createKeyringCredentials, type OpenEntry } from './keyring-credentials.ts'

function aKeyring(): { openEntry: OpenEntry; values: Map<string, string> } {
  const values = new Map<string, string>()
  return {
    values,
    openEntry: (service, account) => ({
      setPassword: password => Promise.resolve(void values.set(`${service}/${account}`, password)),
      getPassword: () => Promise.resolve(values.get(`${service}/${account}`) ?? null),
      deleteCredential: () => Promise.resolve(values.delete(`${service}/${account}`)),
    }),
  }
}

test('tokens are kept per endpoint in the credential store, and the probe leaves nothing behind', async () => {
  const { openEntry, values } = aKeyring()
  const onUnusable = vi.fn()
  const store = createKeyringCredentials({ openEntry, onUnusable })
  await store.set('https://a.example', 'token-a')
  expect([...values]).toEqual([['berth/https://a.example', 'token-a']])
  expect(await store.get('https://a.example')).toBe('token-a')
  expect(await store.get('https://b.example')).toBeNull()
  await store.delete('https://a.example')
  expect(values.size).toBe(0)
  expect(onUnusable).not.toHaveBeenCalled()
})

test('a locked store, which answers reads with "absent", is not trusted with a token', async () => {
  const locked: OpenEntry = () => ({
    setPassword: () => Promise.resolve(),
    getPassword: () => Promise.resolve(null),
    deleteCredential: () => Promise.resolve(false),
  })
  const onUnusable = vi.fn()
  const store = createKeyringCredentials({ openEntry: locked, onUnusable })
  await store.set('https://a.example', 'token')
  expect(onUnusable).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('the store is locked'))
  expect(await store.get('https://a.example')).toBe('token')
})

test('a store that never answers is given up, although its calls cannot be cancelled', async () => {
  const never = new Promise<never>(() => undefined)
  const hung: OpenEntry = () => ({
    setPassword: () => never,
    getPassword: () => never,
    deleteCredential: () => never,
  })
  const onUnusable = vi.fn()
  const store = createKeyringCredentials({ openEntry: hung, onUnusable, storeTimeoutMs: 60, waitMs: 5 })
  expect(await store.get('https://a.example')).toBeNull()
  await store.set('https://a.example', 'token')
  expect(await store.get('https://a.example')).toBe('token')
  await expect.poll(() => onUnusable).toHaveBeenCalledOnce()
  expect(onUnusable).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('may be locked'))
})

test('without a store the token stays in memory, and the user learns why', async () => {
  const onUnusable = vi.fn()
  const store = createKeyringCredentials({
    openEntry: () => {
      throw new Error('no Secret Service')
    },
    onUnusable,
  })
  await store.set('https://a.example', 'token')
  expect(await store.get('https://a.example')).toBe('token')
  expect(onUnusable).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('no Secret Service'))
  await store.delete('https://a.example')
  expect(await store.get('https://a.example')).toBeNull()
})

test('a store that the user unlocks keeps the token of the next sign-in', async () => {
  const { openEntry, values } = aKeyring()
  let isLocked = true
  const onUnusable = vi.fn()
  const onKept = vi.fn()
  const store = createKeyringCredentials({
    onKept,
    openEntry: (service, account) => {
      if (isLocked) throw new Error('locked')
      return openEntry(service, account)
    },
    onUnusable,
  })
  await store.set('https://a.example', 'first')
  expect(onKept).not.toHaveBeenCalled()
  isLocked = false
  await store.set('https://a.example', 'second')
  expect(values.get('berth/https://a.example')).toBe('second')
  expect(await store.get('https://a.example')).toBe('second')
  expect(onUnusable).toHaveBeenCalledOnce()
  expect(onKept).toHaveBeenCalledOnce()
})

test('a store that answers its probe and then hangs delays neither a read nor a sign-in; a token that comes late is told', async () => {
  const { openEntry, values } = aKeyring()
  values.set('berth/https://a.example', 'kept')
  const unlocked = Promise.withResolvers<undefined>()
  const slow: OpenEntry = (service, account) => {
    const entry = openEntry(service, account)
    if (account === 'probe') return entry
    return {
      setPassword: async token => (await unlocked.promise, entry.setPassword(token)),
      getPassword: async () => (await unlocked.promise, entry.getPassword()),
      deleteCredential: async () => (await unlocked.promise, entry.deleteCredential()),
    }
  }
  const onUnusable = vi.fn()
  const onLate = vi.fn()
  const store = createKeyringCredentials({ openEntry: slow, onUnusable, waitMs: 5 })
  expect(await store.get('https://a.example', onLate)).toBeNull()
  await store.set('https://b.example', 'of b')
  expect(await store.get('https://b.example')).toBe('of b')
  unlocked.resolve(undefined)
  await expect.poll(() => onLate).toHaveBeenCalledExactlyOnceWith('kept')
  await expect.poll(() => values.get('berth/https://b.example')).toBe('of b')
  expect(onUnusable).not.toHaveBeenCalled()
})

test('a sign-out that overtakes a slow store leaves no token in it', async () => {
  const { openEntry, values } = aKeyring()
  const unlocked = Promise.withResolvers<undefined>()
  const slow: OpenEntry = (service, account) => ({
    ...openEntry(service, account),
    setPassword: async token => (await unlocked.promise, openEntry(service, account).setPassword(token)),
  })
  const store = createKeyringCredentials({ openEntry: slow, onUnusable: vi.fn(), waitMs: 5 })
  await store.set('https://a.example', 'token')
  await store.delete('https://a.example')
  unlocked.resolve(undefined)
  expect(await store.get('https://a.example')).toBeNull()
  await expect.poll(() => values.size).toBe(0)
})

test('a store that the user unlocks late keeps the present sign-in, and tells a token that it has for another server', async () => {
  const { openEntry, values } = aKeyring()
  values.set('berth/https://b.example', 'kept')
  const unlocked = Promise.withResolvers<undefined>()
  const locked: OpenEntry = (service, account) => {
    const entry = openEntry(service, account)
    return {
      setPassword: async token => (await unlocked.promise, entry.setPassword(token)),
      getPassword: async () => (await unlocked.promise, entry.getPassword()),
      deleteCredential: async () => (await unlocked.promise, entry.deleteCredential()),
    }
  }
  const onUnusable = vi.fn()
  const onKept = vi.fn()
  const onLate = vi.fn()
  const store = createKeyringCredentials({ openEntry: locked, onUnusable, onKept, storeTimeoutMs: 60, waitMs: 5 })
  expect(await store.get('https://b.example', onLate)).toBeNull()
  await store.set('https://a.example', 'token')
  await expect.poll(() => onUnusable).toHaveBeenCalled()
  unlocked.resolve(undefined)
  await expect.poll(() => values.get('berth/https://a.example')).toBe('token')
  await expect.poll(() => onLate).toHaveBeenCalledExactlyOnceWith('kept')
  expect(onKept).toHaveBeenCalledOnce()
  expect(values.has('berth/probe')).toBe(false)
})
