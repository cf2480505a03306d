import pg from 'pg'
import { expect, test } from 'vitest'
import { startDatabase } from '../../fixtures/postgres.ts'
import { startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/**
 * A database whose clock a test sets: unqualified `now()` finds our function first. Column defaults still use PostgreSQL's own function, so
 * only times that the manager itself writes and compares are moved; these decide about the ends of sessions.
 */
async function startClockedDatabase() {
  const database = await startDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const set = (offset: string) =>
    client.query(`create or replace function public.now() returns timestamptz language sql stable
      as $$ select pg_catalog.now() + interval '${offset}' $$`)
  await set('0')
  const url = new URL(database.url)
  url.searchParams.set('options', '-c search_path=public,pg_catalog')
  return {
    url: url.href,
    set,
    async [Symbol.asyncDispose]() {
      await client.end()
      await database[Symbol.asyncDispose]()
    },
  }
}

test('a forward jump of the database clock ends no session and is reported, and later ends are on time', async () => {
  await using database = await startClockedDatabase()
  await using cluster = await startSessionsCluster({ lifetimeSweepMs: 50, sweepMs: 50 }, { databaseUrl: database.url })
  await cluster.join()
  const old = await cluster.launch({ maxLifetimeSeconds: 3600, resources: { cpu: '0.1' } })
  await cluster.reach(old.id, 'RUNNING')
  await database.set('2 hours')
  const warnings = async () => {
    const reply = await fetch(`${cluster.url}/readyz`)
    return ((await reply.json()) as { warnings?: string[] }).warnings
  }
  await expect.poll(warnings).toContain('database_clock_set')
  // The lifetime of this session begins after the step, and ends soon: by then the manager has checked both.
  const young = await cluster.launch({ maxLifetimeSeconds: 1, resources: { cpu: '0.1' } })
  expect((await cluster.reach(young.id, 'TERMINATED')).reason.code).toBe('max_lifetime')
  expect((await cluster.api.getSession({ params: { id: old.id } })).status).toBe('RUNNING')
})
