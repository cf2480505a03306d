import { describe, expect, test } from 'vitest'
import { createApi } from './api.ts'

/** A network that breaks `failures` times before it answers. */
function brokenNetwork(failures: number) {
  const sent: string[] = []
  const api = createApi({
    onSignedOut: () => undefined,
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
