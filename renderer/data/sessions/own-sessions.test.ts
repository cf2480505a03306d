// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { AppError, type ApiClient } from '#manager/contract'
import { aMe } from '../../testing/a-me.ts'
import { aSession, OWNER } from '../../testing/a-session.ts'
import { withServices } from '../../testing/services.ts'
import { useAccount } from '../account/useAccount.ts'
import { useOwnSessions } from './useOwnSessions.ts'

const RUNNING = aSession(1)
const ENDED = aSession(2, { status: 'TERMINATED', endedAt: '2026-11-20T12:00:00.000Z' })
const answerOf = (...items: ReturnType<typeof aSession>[]) => ({ items, nextCursor: null, total: items.length })

/** The summary of a signed-in person, and the queries that it sends. */
async function begun(list: ApiClient['listSessions']) {
  const { app, pinia } = withServices({ me: () => Promise.resolve(aMe(OWNER)), listSessions: list })
  return await app.runWithContext(async () => {
    await useAccount(pinia).begin()
    return useOwnSessions(pinia)
  })
}

test("the person's own sessions are asked for, not those of everybody whom an administrator sees", async () => {
  const asked: unknown[] = []
  const own = await begun(input => {
    asked.push(input?.query)
    return Promise.resolve(input?.query?.status === 'live' ? answerOf(RUNNING) : answerOf(ENDED))
  })
  await own.load()
  expect(asked).toMatchObject([
    { status: 'live', mine: 'true' },
    { status: 'finished', mine: 'true' },
  ])
  expect(own.live.map(({ id }) => id)).toEqual([RUNNING.id])
  expect(own.finished.map(({ id }) => id)).toEqual([ENDED.id])
  await own.load()
  expect(asked).toHaveLength(2)
})

test('a failure is told, and the next attempt may succeed', async () => {
  let answer: ApiClient['listSessions'] = () => Promise.reject(new AppError('unavailable'))
  const own = await begun(input => answer(input))
  await own.load()
  expect(own.list).toMatchObject({ status: 'failed', error: { code: 'unavailable' } })
  answer = () => Promise.resolve(answerOf(RUNNING))
  await own.load()
  expect(own.list.status).toBe('ready')
})
