import { describe, expect, test } from 'vitest'
import { type SessionId } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { apiOf, startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { startManagers } from '../../fixtures/managers.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'
import { hasPgbouncer, startPgbouncer } from '../../fixtures/pgbouncer.ts'
import { startDatabase } from '../../fixtures/postgres.ts'

describe.skipIf(!hasPgbouncer)('behind PgBouncer', () => {
  test('a manager works in session mode', async () => {
    await using database = await startDatabase()
    await using pooler = await startPgbouncer(database.url, 'session')
    await using manager = await startTestManager({ databaseUrl: pooler.url })
    const { api } = await manager.signIn()
    expect((await api.listSessions({ query: {} })).total).toBe(0)
  })

  test('two managers know each other, and one of them schedules', async () => {
    await using database = await startDatabase()
    await using pooler = await startPgbouncer(database.url, 'session')
    await using managers = await startManagers()
    const [a, b] = [
      await managers.start({ databaseUrl: pooler.url }),
      await managers.start({ databaseUrl: pooler.url }),
    ]
    const { api } = await managers.admin(a)
    await using home = await temporaryDirectory()
    const { join } = await a.createJoinToken()
    await using agent = await startMeshAgent({ home: home.path, engine: scriptedEngine(), join })
    await expect.poll(() => agent.connectedTo.size).toBe(2)
    const { items } = await api.createSession({ body: { image: 'berth/python:3.13' } })
    const id = items[0]?.id as SessionId
    await expect.poll(async () => (await api.getSession({ params: { id } })).status).toBe('RUNNING')
    const schedulers = async () => (await api.listManagers()).items.map(({ schedules }) => schedules.length).toSorted()
    await expect.poll(schedulers).toEqual([0, 1])
    const { token } = await managers.admin(b)
    using stream = await openEventStream(a.url, { token })
    await apiOf(b.url, token).logout()
    await expect.poll(() => stream.isEnded()).toBe(true)
  })

  test.each(['transaction', 'statement'] as const)(
    '%s mode is refused in words, with the setting to change',
    async mode => {
      await using database = await startDatabase()
      await using pooler = await startPgbouncer(database.url, mode)
      const opening = openStore({ databaseUrl: pooler.url, dataDir: '/nonexistent', log: silentLog })
      await expect(opening).rejects.toMatchObject({ code: 'config_invalid', detail: { cause: 'database_pooled' } })
      await expect(opening).rejects.toThrow(/pool_mode = transaction/)
    },
  )
})
