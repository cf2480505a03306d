import { expect, test } from 'vitest'
import { silentLog } from '../../../manager/log.ts'
import { createGuardedPool } from '../../../manager/store/guarded-pool.ts'
import { startDatabase } from '../../fixtures/postgres.ts'

const LIMIT_MS = 1_000

test('an answer that came while this process stood still counts, one that does not come is not awaited', async () => {
  await using database = await startDatabase()
  const pool = createGuardedPool({ config: { connectionString: database.url }, limitMs: LIMIT_MS, log: silentLog })
  try {
    const client = await pool.connect()
    const answer = client.query<{ one: number }>('select 1 as one', [])
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * LIMIT_MS)
    expect((await answer).rows).toEqual([{ one: 1 }])
    await expect(client.query('select pg_sleep(60)', [])).rejects.toMatchObject({ code: 'unavailable' })
    client.release()
  } finally {
    await pool.end()
  }
})

test('a wait for a connection that is too long names who is busy: the database, or this process', async () => {
  await using database = await startDatabase()
  const config = { connectionString: database.url, max: 1 }
  const pool = createGuardedPool({ config, limitMs: undefined, waitMs: LIMIT_MS, log: silentLog })
  const held = await pool.connect()
  let isBusy = false
  const occupy = () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LIMIT_MS / 20)
    if (isBusy) setImmediate(occupy)
  }
  try {
    await expect(pool.connect()).rejects.toMatchObject({ detail: { cause: 'database_busy' } })
    isBusy = true
    occupy()
    await expect(pool.connect()).rejects.toMatchObject({ detail: { cause: 'manager_busy' } })
  } finally {
    isBusy = false
    held.release()
    await pool.end()
  }
})
