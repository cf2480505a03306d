import { describe, expect, test } from 'vitest'
import { AppError, ROUTES, toProblem } from '#manager/contract'
import { aMe } from '../testing/a-me.ts'
import { OWNER } from '../testing/a-session.ts'
import { createApi } from './api.ts'
import { csrfToken } from './csrf.ts'

/** A network that breaks `failures` times before it answers. */
function brokenNetwork(failures: number) {
  const sent: string[] = []
  const api = createApi({
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
  test('does not show: a question is asked again', async () => {
    const { api, sent } = brokenNetwork(2)
    expect(await api.listImages()).toEqual({ items: [] })
    expect(sent).toEqual(['GET', 'GET', 'GET'])
  })

  test('is told after three attempts', async () => {
    const { api, sent } = brokenNetwork(9)
    await expect(api.listImages()).rejects.toMatchObject({ code: 'unavailable' })
    expect(sent).toHaveLength(3)
  })

  test('never repeats what may have been done', async () => {
    const { api, sent } = brokenNetwork(1)
    await expect(api.logout()).rejects.toMatchObject({ code: 'unavailable' })
    expect(sent).toEqual(['POST'])
  })
})

describe('a cookie that another tab has renewed', () => {
  /** A manager that knows the token `new` only. */
  function renewed(isSamePerson: boolean) {
    csrfToken.set('old')
    const sent: string[] = []
    const api = createApi({
      onSignedOut: () => undefined,
      adopt: me => {
        if (isSamePerson) csrfToken.set(me.csrf)
        return isSamePerson
      },
      fetch: (url, init) => {
        const path = url as string
        sent.push(`${init?.method ?? 'GET'} ${path}`)
        if (path === ROUTES.me.path) return Promise.resolve(Response.json(aMe(OWNER, 'new')))
        const { 'x-berth-csrf': token } = init?.headers as Record<string, string>
        return Promise.resolve(
          token === 'new'
            ? new Response(null, { status: 204 })
            : Response.json(toProblem(new AppError('csrf_failed')), {
                status: 403,
                headers: { 'content-type': 'application/problem+json' },
              }),
        )
      },
    })
    return { api, sent }
  }

  test('of the same person does not show', async () => {
    const { api, sent } = renewed(true)
    await api.logout()
    expect(sent).toEqual(['POST /api/v1/auth/logout', 'GET /api/v1/me', 'POST /api/v1/auth/logout'])
  })

  test('of another person: nothing is done as them', async () => {
    const { api, sent } = renewed(false)
    await expect(api.logout()).rejects.toMatchObject({ code: 'csrf_failed' })
    expect(sent).toEqual(['POST /api/v1/auth/logout', 'GET /api/v1/me'])
  })
})
