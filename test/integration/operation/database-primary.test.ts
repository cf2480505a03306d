import { expect, test } from 'vitest'
import { database } from '../../../cli/doctor/checks/database.ts'
import { type Facts } from '../../../cli/doctor/facts.ts'
import { probeDatabase } from '../../../cli/doctor/probe/database.ts'
import { startManagers } from '../../fixtures/managers.ts'
import { startPostgresPair } from '../../fixtures/postgres-pair.ts'

const MOVE = { timeout: 120_000, interval: 20 }

/** Why a manager is not ready; `none` if it is. */
async function causeAt({ url }: { readonly url: string }): Promise<string> {
  const text = await (await fetch(`${url}/readyz`)).text()
  return /database_\w+/.exec(text)?.[0] ?? 'none'
}

/** Key of what `berth doctor` says of the database. */
async function examined(databaseUrl: string): Promise<string | undefined> {
  const finding = database.run({ database: await probeDatabase('', databaseUrl) } as Facts)
  return finding?.saysBy.cause
}

test('a manager leaves a server that turns read-only without closing connections, and says so', async () => {
  await using stack = new AsyncDisposableStack()
  const pair = stack.use(await startPostgresPair())
  const [one] = pair.servers
  const managers = stack.use(await startManagers())
  const a = await managers.start({ databaseUrl: one.url })
  const cause = () => causeAt(a)
  await expect.poll(cause, MOVE).toBe('none')
  const set = async (value: string) => {
    const text = `alter system set default_transaction_read_only = ${value}`
    await pair.query(one, text)
    await pair.query(one, 'select pg_reload_conf()')
  }
  await set('on')
  await expect.poll(cause, MOVE).toBe('database_read_only')
  await set('off')
  await expect.poll(cause, MOVE).toBe('none')
})

test('readiness and doctor say that no server is a primary, and that only an old one is', async () => {
  await using stack = new AsyncDisposableStack()
  const pair = stack.use(await startPostgresPair())
  const [one, two] = pair.servers
  const managers = stack.use(await startManagers())
  const a = await managers.start({ databaseUrl: pair.url })
  const cause = () => causeAt(a)
  await one.kill()
  await expect.poll(cause, MOVE).toBe('database_no_primary')
  expect(await examined(pair.url)).toBe('database_no_primary')
  await two.promote()
  await expect.poll(cause, MOVE).toBe('none')
  expect(await examined(pair.url)).toBe('database_server_away')
  await one.startAlone()
  expect(await examined(pair.url)).toBe('database_two_primaries')
  expect(await cause()).toBe('none')
  await two.kill()
  await expect.poll(cause, MOVE).toBe('database_old_primary')
})
