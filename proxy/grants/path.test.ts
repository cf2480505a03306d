import { expect, test, vi } from 'vitest'
import { type Grant, type SessionId } from '#manager/contract'
import { createPath } from './path.ts'

const sessionId = '01900000-0000-7000-8000-000000000001' as SessionId
const GRANT: Grant = {
  grant: 'g',
  sessionId,
  app: { name: 'sshd', title: 'SSH', protocol: 'tcp', path: '/' },
  expiresAt: new Date(Date.now() + 300_000).toISOString(),
  inject: null,
}

/** Never answers, like a dead connection; ends only by its signal. */
const blackHole = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  )

function aPath() {
  const network = { isDead: true }
  const answer = (signal: AbortSignal) => (network.isDead ? blackHole(signal) : Promise.resolve(GRANT))
  const api = {
    createGrant: vi.fn((input?: { signal?: unknown }) => answer(input?.signal as AbortSignal)),
    renewGrant: vi.fn((input?: { signal?: unknown }) => answer(input?.signal as AbortSignal)),
  }
  const dial = vi.fn((_grant: Grant, signal: AbortSignal) =>
    network.isDead ? blackHole(signal) : Promise.resolve('line'),
  )
  const onChange = vi.fn()
  return { network, api, dial, onChange, path: createPath<string>({ api, sessionId, app: 'sshd', dial, onChange }) }
}
const never = new AbortController().signal

test('an attempt that hangs on a dead connection is made again as soon as the computer wakes', async () => {
  const { network, path, dial, onChange } = aPath()
  network.isDead = false
  await path.grant()
  network.isDead = true
  const connecting = path.connect(never)
  await expect.poll(() => dial).toHaveBeenCalledTimes(1)
  network.isDead = false
  const woke = performance.now()
  path.wake()
  expect(await connecting).toBe('line')
  expect(performance.now() - woke).toBeLessThan(2_000)
  expect(dial).toHaveBeenCalledTimes(2)
  expect(onChange.mock.calls.map(([state]) => state as string)).not.toContain('reconnecting')
  path[Symbol.dispose]()
})

test('a request for a grant that hangs is given up too, for all that wait for it', async () => {
  const { network, path, api } = aPath()
  const waiting = [path.connect(never), path.connect(never), path.grant()]
  await expect.poll(() => api.createGrant).toHaveBeenCalledTimes(1)
  network.isDead = false
  path.wake()
  expect(await Promise.all(waiting)).toEqual(['line', 'line', GRANT])
  path[Symbol.dispose]()
})

test('a path that is closed waits for no request', async () => {
  const { path, api } = aPath()
  const connecting = path.connect(never)
  await expect.poll(() => api.createGrant).toHaveBeenCalledTimes(1)
  path[Symbol.dispose]()
  await expect(connecting).rejects.toMatchObject({ code: 'tunnel_not_found' })
})
