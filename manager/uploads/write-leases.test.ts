import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { expect, test, vi } from 'vitest'
import { UploadId } from '#manager/contract'
import { currentWork, onBehalfOf } from '../store/on-behalf.ts'
import { type Database } from '../store/schema.ts'
import { createWriteLeases } from './write-leases.ts'

/** A database whose statements change nothing. */
const db = new Kysely<Database>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: one => new PostgresIntrospector(one),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

test('the leases of all do not wait behind the calls of whoever began the first upload', async () => {
  const begunFor: unknown[] = []
  // A timer runs in the context in which it was begun.
  using _timer = vi.spyOn(globalThis, 'setInterval').mockImplementation(() => {
    begunFor.push(currentWork())
    return setTimeout(() => undefined, 0)
  })
  const leases = createWriteLeases({ db, livesSeconds: 60 })
  const id = UploadId.parse('00000000-0000-7000-8000-000000000000')
  const nothing = () => Promise.resolve()
  await onBehalfOf('mallory', () => leases.withLease(id, nothing, nothing)).catch(() => undefined)
  expect(begunFor).toEqual([undefined])
})
