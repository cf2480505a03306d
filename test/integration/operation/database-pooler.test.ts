import { describe, expect, test } from 'vitest'
import { silentLog } from '../../../manager/log.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { startTestManager } from '../../fixtures/manager.ts'
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

  test('transaction mode is refused in words, with the setting to change', async () => {
    await using database = await startDatabase()
    await using pooler = await startPgbouncer(database.url, 'transaction')
    const opening = openStore({ databaseUrl: pooler.url, dataDir: '/nonexistent', log: silentLog })
    await expect(opening).rejects.toMatchObject({ code: 'config_invalid', detail: { cause: 'database_pooled' } })
    await expect(opening).rejects.toThrow(/pool_mode = transaction/)
  })
})
