import { sql } from 'kysely'
import pg from 'pg'
import { expect, test } from 'vitest'
import { silentLog } from '../../../manager/log.ts'
import { onBehalfOf, onBehalfOfAll } from '../../../manager/store/on-behalf.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { DEFAULT_BACKEND, openDatabase } from '../../fixtures/database.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'

const LOCK = 4_711

/** A store whose statements can be made to wait: `slow` is not answered until `release`. */
async function setUp() {
  await using stack = new AsyncDisposableStack()
  const { path: dataDir } = stack.use(await temporaryDirectory())
  const databaseUrl = stack.use(await openDatabase(DEFAULT_BACKEND)).url
  const { db, transaction } = stack.use(await openStore({ dataDir, databaseUrl, log: silentLog }))
  const holder = new pg.Client(databaseUrl)
  await holder.connect()
  stack.defer(() => holder.end())
  await holder.query(`select pg_advisory_lock(${LOCK})`)
  const opened = stack.move()
  return {
    db,
    transaction,
    quick: () => sql`select 1`.execute(db),
    slow: () => sql`select pg_advisory_xact_lock_shared(${sql.lit(LOCK)})`.execute(db),
    release: () => holder.query(`select pg_advisory_unlock(${LOCK})`),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

// Another connection holds the lock; the address of an embedded database is not known here.
test.skipIf(DEFAULT_BACKEND === 'embedded')(
  'many slow statements for one person do not make others wait, nor what everybody waits for',
  async () => {
    await using it = await setUp()
    const slow = Array.from({ length: 50 }, () => onBehalfOf('mallory', it.slow))
    const firstSlow = Promise.any(slow).then(() => 'slow')
    const own = onBehalfOf('mallory', it.quick).then(() => 'own')
    for (const quick of [
      () => onBehalfOf('ada', it.quick),
      it.quick,
      () => onBehalfOf('mallory', () => onBehalfOfAll(it.quick)),
    ]) {
      expect(await Promise.race([quick().then(() => 'quick'), firstSlow, own])).toBe('quick')
    }
    await it.release()
    await Promise.all([...slow, own])
  },
)

test.skipIf(DEFAULT_BACKEND === 'embedded')(
  'work that holds a connection gets a further one, however many its person has',
  async () => {
    await using it = await setUp()
    await it.release()
    const all = Promise.withResolvers<undefined>()
    let inside = 0
    const works = Array.from({ length: 5 }, () =>
      onBehalfOf('ada', () =>
        it.transaction(async () => {
          if (++inside === 5) all.resolve(undefined)
          await all.promise
          await it.quick()
        }),
      ),
    )
    const later = onBehalfOf('ada', it.quick)
    await Promise.all([...works, later])
    expect(inside).toBe(5)
  },
)

test.skipIf(DEFAULT_BACKEND === 'embedded')(
  'two people who have all connections that they may do not wait for each other when they need further ones',
  async () => {
    await using it = await setUp()
    await it.release()
    const most = Promise.withResolvers<undefined>()
    let inside = 0
    const works = ['ada', 'grace'].flatMap(who =>
      Array.from({ length: 5 }, () =>
        onBehalfOf(who, () =>
          it.transaction(async () => {
            if (++inside === 8) most.resolve(undefined)
            await most.promise
            await it.quick()
          }),
        ),
      ),
    )
    await Promise.all(works)
    expect(inside).toBe(10)
  },
)
