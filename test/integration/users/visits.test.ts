import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { putVisit } from '../../../manager/store/identity/visits.ts'
import { openTestStore } from '../../fixtures/test-store.ts'

test('a visit goes on while the console is looked at, and begins anew after half an hour', async () => {
  await using world = await openTestStore()
  const { store, ownerId } = world
  const visit = async () => (await putVisit(store.db, ownerId))?.getTime() ?? null
  /** Moves the recorded times of the visit back, and returns when the user last looked at the console. */
  const pass = async (minutes: number) => {
    const { rows } = await sql<{ seen: Date }>`
      update visits set seen = seen - make_interval(mins => ${minutes}) returning seen`.execute(store.db)
    return rows[0]?.seen.getTime()
  }
  expect(await visit()).toBeNull()
  await pass(29)
  expect(await visit()).toBeNull()
  const left = await pass(31)
  expect(await visit()).toBe(left)
  await pass(20)
  expect(await visit()).toBe(left)
})
