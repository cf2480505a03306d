import { expect, test } from 'vitest'
import { SessionId } from '#manager/contract'
import { type Proxy } from '#proxy'
import { openSshTunnel, silenceOf } from './reach.ts'

const session = SessionId.parse('01920000-0000-7000-8000-000000000002')
const failure = (message: string) => ({ code: 'unavailable', message, detail: {} }) as const
const proxyWith = (open: () => Promise<unknown>) => ({ tunnel: { open } }) as unknown as Proxy

test('a server that does not start in time is given up, with a reason', async () => {
  const opening = openSshTunnel(
    proxyWith(() => new Promise(() => undefined)),
    session,
    { withinMs: 20 },
  )
  await expect(opening).rejects.toMatchObject({ code: 'unavailable' })
})

test("the manager's answer takes precedence", async () => {
  const gone = new Error('gone')
  await expect(
    openSshTunnel(
      proxyWith(() => Promise.reject(gone)),
      session,
    ),
  ).rejects.toBe(gone)
})

test('a connection with bytes from the session needs no explanation of silence', () => {
  expect(silenceOf([{ bytesDown: 1, lastError: failure('of another connection') }])).toBeUndefined()
  expect(silenceOf([{ bytesDown: 0, lastError: failure('The app did not accept the connection in time.') }])).toContain(
    'in time',
  )
  expect(silenceOf([{ bytesDown: 0, lastError: null }])).toContain('did not answer within 15 seconds')
  expect(silenceOf([])).toContain('ended')
})
