import { describe, expect, test, vi } from 'vitest'
import { AppError, toProblem, type SessionId } from '#manager/contract'
import { createHost, type HostDeps } from './host.ts'

const spec = { sessionId: '0199a000-0000-7000-8000-00000000000a' as SessionId, app: 'jupyter' }

const hostOver = (fetch: HostDeps['fetch'], rest: Partial<HostDeps> = {}) =>
  createHost({ window: {}, renewSignIn: () => Promise.resolve(false), ...rest, fetch })
const refusal = (code: 'not_signed_in' | 'foreign_origin') =>
  Response.json(toProblem(new AppError(code)), {
    status: 403,
    headers: { 'content-type': 'application/problem+json' },
  })

describe('the host of the page', () => {
  test('in a browser the host is reached over HTTP, and its errors keep code and numbers', async () => {
    const error = { code: 'port_in_use', message: 'The local port is in use', detail: { port: 8888, holder: 'nginx' } }
    const fetch = vi.fn(() => Promise.resolve(Response.json({ ok: false, error })))
    const host = hostOver(fetch)
    await expect(host.tunnel.openApp(spec)).rejects.toMatchObject({ code: 'port_in_use', detail: { port: 8888 } })
    const [path, init] = fetch.mock.calls[0] as unknown as [string, RequestInit]
    expect(path).toBe('/host/tunnel/openApp')
    expect(init.body).toBe(JSON.stringify([spec]))
  })

  test('a host that does not answer is unavailable, and the error says what to check', async () => {
    const host = hostOver(() => Promise.reject(new TypeError('refused')))
    await expect(host.tunnel.list()).rejects.toMatchObject({ code: 'unavailable', detail: { why: /Is Berth still/ } })
    const strange = hostOver(() => Promise.resolve(new Response('<html>', { status: 502 })))
    await expect(strange.tunnel.list()).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('a refused request has the reason, in the words of the error table', async () => {
    const host = hostOver(() => Promise.resolve(refusal('foreign_origin')))
    await expect(host.tunnel.list()).rejects.toMatchObject({ code: 'foreign_origin' })
  })

  test('after a sign-in in another tab the request is repeated with it, and never as another person', async () => {
    let isRenewed = false
    const fetch = vi.fn(() =>
      Promise.resolve(isRenewed ? Response.json({ ok: true, value: [] }) : refusal('not_signed_in')),
    )
    const stranger = hostOver(fetch)
    await expect(stranger.tunnel.list()).rejects.toMatchObject({ code: 'not_signed_in' })
    expect(fetch).toHaveBeenCalledTimes(1)
    const renewSignIn = () => Promise.resolve((isRenewed = true))
    await expect(hostOver(fetch, { renewSignIn }).tunnel.list()).resolves.toEqual([])
    expect(fetch).toHaveBeenCalledTimes(3)
  })

  test('events continue after the next sign-in', async () => {
    let signedIn = false
    const event = 'event: tunnel:closed\ndata: {"id":"a","reason":"closed"}\n\n'
    const fetch = vi.fn(() => Promise.resolve(signedIn ? new Response(event) : new Response(null, { status: 401 })))
    const host = hostOver(fetch)
    const heard = vi.fn()
    const stop = host.on('tunnel:closed', heard)
    await expect.poll(() => fetch).toHaveBeenCalledOnce()
    signedIn = true
    host.reconnect()
    await expect.poll(() => heard).toHaveBeenCalledWith({ id: 'a', reason: 'closed' })
    stop()
  })

  test('in the desktop app the host is the bridge', async () => {
    const list = vi.fn(() => Promise.resolve({ ok: true, value: [] }))
    const on = vi.fn((_event: string, _listener: (payload: unknown) => unknown) => () => undefined)
    const window = { host: { tunnel: { list } }, hostEvents: { on } } as never
    const host = hostOver(() => Promise.reject(new Error('not used')), { window })
    await expect(host.tunnel.list()).resolves.toEqual([])
    // Electron copies the return value of a listener, and fails if it cannot.
    host.on('tunnel:changed', () => new Map([[1, () => 2]]))
    expect(on).toHaveBeenCalledOnce()
    expect(on.mock.calls[0]?.[1]({})).toBeUndefined()
    await expect(host.ssh.connect(spec)).rejects.toMatchObject({ code: 'internal' })
  })
})
