import { describe, expect, test, vi } from 'vitest'
import { AppError, ORIGIN_SECRET_HEADER, ROUTES, toProblem } from '#manager/contract'
import { aMe } from '../testing/a-me.ts'
import { OWNER } from '../testing/a-session.ts'
import { testSecret } from '../testing/services.ts'
import { createApi } from './api.ts'
import { fetchWithSecret } from './origin-secret.ts'

/** A network that breaks `failures` times before it answers. */
function brokenNetwork(failures: number) {
  const sent: string[] = []
  const api = createApi({
    secret: testSecret(),
    onSignedOut: () => undefined,
    adopt: () => true,
    fetch: (_url, init) => {
      sent.push(init?.method ?? 'GET')
      return sent.length <= failures
        ? Promise.reject(new TypeError('Failed to fetch'))
        : Promise.resolve(Response.json({ items: [] }))
    },
  })
  return { api, sent }
}

describe('a network that changes while a request is in flight', () => {
  test('a GET is repeated unnoticed', async () => {
    const { api, sent } = brokenNetwork(2)
    expect(await api.listImages()).toEqual({ items: [] })
    expect(sent).toEqual(['GET', 'GET', 'GET'])
  })

  test('the failure is reported after three attempts', async () => {
    const { api, sent } = brokenNetwork(9)
    await expect(api.listImages()).rejects.toMatchObject({ code: 'unavailable' })
    expect(sent).toHaveLength(3)
  })

  test('a request that may have had an effect is never repeated', async () => {
    const { api, sent } = brokenNetwork(1)
    await expect(api.logout()).rejects.toMatchObject({ code: 'unavailable' })
    expect(sent).toEqual(['POST'])
  })
})

describe('a sign-in that another tab has renewed', () => {
  /** A manager that knows only the secret `new`, and a browser in which another tab has just stored it. */
  function renewed({ isSamePerson, isKnown = true }: { isSamePerson: boolean; isKnown?: boolean }) {
    const browser = new Map([['berth.origin-secret', 'old']])
    const secret = testSecret(browser)
    testSecret(browser).store('new')
    const sent: string[] = []
    const onSignedOut = vi.fn()
    const answer: typeof fetch = (url, init) => {
      const path = url as string
      const token = new Headers(init?.headers).get(ORIGIN_SECRET_HEADER)
      sent.push(`${init?.method ?? 'GET'} ${path} ${token}`)
      const type = { 'content-type': 'application/problem+json' }
      const refusal = Response.json(toProblem(new AppError('not_signed_in')), { status: 401, headers: type })
      if (token !== 'new' || !isKnown) return Promise.resolve(refusal)
      return Promise.resolve(path === ROUTES.me.path ? Response.json(aMe(OWNER)) : new Response(null, { status: 204 }))
    }
    const api = createApi({
      secret,
      onSignedOut,
      adopt: (_me, newer) => {
        if (isSamePerson) secret.use(newer)
        return isSamePerson
      },
      fetch: fetchWithSecret(answer, secret),
    })
    return { api, sent, onSignedOut }
  }
  const before = ['POST /api/v1/auth/logout old', 'GET /api/v1/me new']

  test('a new sign-in of the same person is adopted unnoticed', async () => {
    const { api, sent, onSignedOut } = renewed({ isSamePerson: true })
    await api.logout()
    expect(sent).toEqual([...before, 'POST /api/v1/auth/logout new'])
    expect(onSignedOut).not.toHaveBeenCalled()
  })

  test('after a sign-in of another person nothing is done as that person', async () => {
    const { api, sent } = renewed({ isSamePerson: false })
    await expect(api.logout()).rejects.toMatchObject({ code: 'not_signed_in' })
    expect(sent).toEqual(before)
  })

  test('if the new sign-in has ended as well, the page is told once that it is signed out', async () => {
    const { api, onSignedOut } = renewed({ isSamePerson: true, isKnown: false })
    await expect(api.logout()).rejects.toMatchObject({ code: 'not_signed_in' })
    expect(onSignedOut).toHaveBeenCalledOnce()
  })
})
