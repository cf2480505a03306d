import { expect, test } from 'vitest'
import { createClient } from './client.ts'
import { AppError, toProblem } from '../errors.ts'

test.each([
  ['a coded error', new AppError('not_signed_in'), 'not_signed_in'],
  ['any other error', new TypeError('fetch failed'), 'unavailable'],
])('%s of the given fetch reaches the caller with its code', async (_, error, code) => {
  const api = createClient({ baseUrl: '', fetch: () => Promise.reject(error) })
  await expect(api.me()).rejects.toMatchObject({ code })
})

test.each([
  ['a page of a captive portal', 200, 'text/html', '<!doctype html>'],
  ['nothing where an answer is expected', 200, 'application/json', ''],
  ['levels that would take gigabytes', 200, 'application/json', `${'['.repeat(1024 * 1024)}${']'.repeat(1024 * 1024)}`],
  ['a problem document that was cut off', 502, 'application/problem+json', '{"type":'],
])('%s is a coded error', async (_, status, type, text) => {
  const api = createClient({
    baseUrl: 'http://berth.example.org:8400',
    fetch: () => Promise.resolve(new Response(text, { status, headers: { 'content-type': type } })),
  })
  const error = await api.me().catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'unavailable' })
  if (status === 200) {
    expect(String(error)).toContain('The server at http://berth.example.org:8400 is not a Berth manager.')
  }
})

/** A manager that gives these answers one after the other; undefined for a connection that breaks. */
function answering(replies: (Response | undefined)[]) {
  const keys: (string | undefined)[] = []
  const pauses: number[] = []
  const api = createClient({
    baseUrl: '',
    fetch(_url, { headers }) {
      keys.push(headers['idempotency-key'])
      const reply = replies.shift()
      return reply ? Promise.resolve(reply) : Promise.reject(new TypeError('fetch failed'))
    },
    wait(ms) {
      pauses.push(ms)
      return Promise.resolve()
    },
  })
  return { api, keys, pauses }
}
const refused = (code: 'unavailable' | 'request_in_progress' | 'session_name_taken') => {
  const problem = toProblem(new AppError(code))
  return Response.json(problem, {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json' },
  })
}
const made = () => Response.json({ items: [], notices: [] }, { status: 201 })
const body = { image: 'berth/python:3.13' }

test('a request that creates something is repeated with its key until it is answered', async () => {
  const { api, keys, pauses } = answering([undefined, refused('request_in_progress'), refused('unavailable'), made()])
  expect(await api.createSession({ body })).toEqual({ items: [], notices: [] })
  expect(new Set(keys).size).toBe(1)
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
  expect(pauses).toEqual([100, 400, 1_500])
  const next = answering([made()])
  await next.api.createSession({ body })
  expect(next.keys[0]).not.toBe(keys[0])
})

test('a refusal is returned at once, and a request without a key is not repeated', async () => {
  const taken = answering([refused('session_name_taken')])
  await expect(taken.api.createSession({ body })).rejects.toMatchObject({ code: 'session_name_taken' })
  const lost = answering([undefined])
  await expect(lost.api.logout()).rejects.toMatchObject({ code: 'unavailable' })
  const busy = answering([refused('unavailable')])
  await expect(busy.api.me()).rejects.toMatchObject({ code: 'unavailable' })
  for (const { keys } of [lost, busy]) expect(keys).toEqual([undefined])
})
