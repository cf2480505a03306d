import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { KernelId, SessionId, type UserId } from '#manager/contract'
import { replaceImages } from '../../../manager/store/images/images.ts'
import { MIGRATIONS } from '../../../manager/store/migrations/index.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { recountDays, sumEndedSessions } from '../../../manager/store/quotas/usage-days.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { type Db } from '../../../manager/store/schema.ts'
import { PYTHON } from '../../fixtures/scripted-agent.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

/** Data of a Berth that had sums by day only, and compared the descriptions of images as they are. */

const HOUR = 3_600_000
/** A Thursday. */
const START = Date.UTC(2026, 2, 5)
const DAYS = 24

/** Sessions of every length: within an hour, over midnight, over Sunday, and over three weeks. */
async function insertEnded({ db }: Store, ownerId: UserId): Promise<void> {
  const agent = await insertAgent(db)
  await sql`insert into domains (name) values ('lab')`.execute(db)
  const lengths = [0, 0.5, 3, 30, 100, 500]
  for (let n = 0; n < DAYS * 2; n++) {
    const [id, from] = [newId(SessionId), START + n * 12 * HOUR + (n % 5) * 0.3 * HOUR]
    const to = from + (lengths[n % lengths.length] ?? 0) * HOUR
    const requested = { cpu: 1000 * (1 + (n % 3)), mem: 2 ** 30, 'cuda.device': n % 2 }
    const domain = n % 4 === 0 ? 'lab' : 'default'
    await insertSessions(db, [
      aSessionRow(ownerId, { id, requested, domain, status: 'TERMINATED', image: `image-${n % 3}` }),
    ])
    await insertKernels(db, [{ id: newId(KernelId), sessionId: id, status: 'TERMINATED', slots: requested }])
    await sql`update sessions set started_at = ${new Date(from)}, ended_at = ${new Date(to)} where id = ${id}`.execute(
      db,
    )
    await sql`update kernels set agent_id = ${agent}, ended_at = ${new Date(to)} where session_id = ${id}`.execute(db)
  }
}

const figuresOf = async (db: Db, table: 'usage_days' | 'usage_weeks' | 'usage_hours') => {
  const order = table === 'usage_hours' ? sql`1, 2` : sql`1, 2, 3, 4`
  const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)} order by ${order}`.execute(db)
  // The last digits of sums depend on the order of adding.
  const rounded = (value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(9)) : value)
  return rows.map(row => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, rounded(value)])))
}
const descriptionsOf = async (db: Db) =>
  (await sql`select agent_id, digest, described from agent_images order by 1, 2`.execute(db)).rows

/** Takes the tables back to those before the sums by hour. */
async function takeBack(db: Db): Promise<void> {
  const statements = [
    'drop table usage_weeks',
    'drop table usage_hours',
    'alter table sessions drop column words',
    'alter table agent_images drop column described',
    'create index agent_images_digest on agent_images (digest)',
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** Runs the migrations that `takeBack` has undone. */
async function upgrade(db: Db): Promise<void> {
  const undone = Object.entries(MIGRATIONS).filter(([name]) => name >= '0078' && name < '0084')
  expect(undone.length).toBeGreaterThan(3)
  for (const [, { up }] of undone) await up(db)
}

test('an upgrade makes the sums and the descriptions that a newer Berth would have made', async () => {
  await using opened = await openTestStore()
  const { store, ownerId } = opened
  const { db } = store
  await insertEnded(store, ownerId)
  const other = await insertAgent(db)
  await replaceImages(db, other, [PYTHON, { ...PYTHON, id: `sha256:${'b'.repeat(64)}`, title: 'Another "title" — ü' }])
  while (await store.transaction(trx => sumEndedSessions(trx)));
  const [days, weeks, hours] = [
    await figuresOf(db, 'usage_days'),
    await figuresOf(db, 'usage_weeks'),
    await figuresOf(db, 'usage_hours'),
  ]
  expect(new Set(weeks.map(({ week }) => String(week))).size).toBeGreaterThan(4)
  expect(hours.length).toBeGreaterThan(DAYS)
  const descriptions = await descriptionsOf(db)
  expect(descriptions).toHaveLength(2)

  await takeBack(db)
  await db.transaction().execute(upgrade)
  expect(await figuresOf(db, 'usage_weeks')).toEqual(weeks)
  expect(await descriptionsOf(db)).toEqual(descriptions)
  // The hours come when the days are counted anew, as the migration asks.
  while ((await store.transaction(trx => recountDays(trx))).isMore);
  expect(await figuresOf(db, 'usage_hours')).toEqual(hours)
  expect(await figuresOf(db, 'usage_days')).toEqual(days)
  expect(await figuresOf(db, 'usage_weeks')).toEqual(weeks)
})
