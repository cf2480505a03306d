import { Kysely, PostgresDialect } from 'kysely'
import { expect, test } from 'vitest'
import { AppError, because, ROUTES, UserId } from '#manager/contract'
import { silentLog } from '../log.ts'
import { type Database } from '../store/schema.ts'
import { createIdempotency } from './idempotency.ts'

test('a request that gets no connection is refused at once, and asks for none to take its claim back', async () => {
  let asked = 0
  const pool = {
    options: {},
    connect() {
      asked++
      return Promise.reject(new AppError('unavailable', because('database_busy')))
    },
    end: () => Promise.resolve(),
  }
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  const box = { seal: (text: string) => text, open: (text: string) => text }
  const once = createIdempotency({ db, box, log: silentLog })
  const userId = UserId.parse('00000000-0000-7000-8000-000000000000')
  const call = { route: ROUTES.createSession, header: 'key', userId, request: { url: '/', body: null } }
  await expect(once(call, () => Promise.resolve('made'))).rejects.toMatchObject({ code: 'unavailable' })
  expect(asked).toBe(1)
})
