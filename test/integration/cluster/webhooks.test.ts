import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type ApiClient } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { newUuid } from '../../../manager/store/new-id.ts'
import { writeHostEvent } from '../../../manager/store/operation/webhook-events.ts'
import { FAST, type Managers, startManagers } from '../../fixtures/managers.ts'
import { ACCEPTS, startWebhookReceiver, type WebhookReceiver } from '../../fixtures/webhook-receiver.ts'

const PATIENT = { timeout: 120_000, interval: 20 }
const stack = new AsyncDisposableStack()
let managers: Managers
let store: Store
let api: ApiClient
let receiver: WebhookReceiver
let id: string

beforeAll(async () => {
  managers = stack.use(
    await startManagers({
      ...FAST,
      webhooks: { pollMs: 20, leaseSeconds: 5, restSeconds: 0, pauseAfter: attempts => attempts / 100 },
    }),
  )
  const first = await managers.start()
  await managers.start()
  api = (await managers.admin(first)).api
  await api.updateSettings({ body: { webhookHosts: 'localhost', webhookHttp: true } })
  const { databaseUrl } = managers
  store = stack.use(await openToRead({ dataDir: '', databaseUrl, log: silentLog }))
})
afterAll(() => stack.disposeAsync())
beforeEach(async () => {
  receiver = stack.use(await startWebhookReceiver())
  for (const one of (await api.listWebhooks()).items) await api.deleteWebhook({ params: { id: one.id } })
  ;({ id } = await api.createWebhook({ body: { name: 'ours', url: receiver.url, events: ['host.problem'] } }))
})

const tell = async (count: number) => {
  for (let index = 0; index < count; index++) {
    await store.transaction(trx => writeHostEvent(trx, { event: 'host.problem', host: `host-${index}` }))
  }
}
const waiting = async () => (await api.listWebhooks()).items[0]?.waiting

test('of two managers each event is sent by one, in the order of the events', async () => {
  await tell(20)
  await vi.waitFor(() => expect(receiver.events).toHaveLength(20), PATIENT)
  await vi.waitFor(async () => expect(await waiting()).toBe(0), PATIENT)
  expect(receiver.events.map(({ json }) => (json.data as { host: { name: string } }).host.name)).toEqual(
    Array.from({ length: 20 }, (_, index) => `host-${index}`),
  )
})

test('another manager takes a webhook over when the lease of the one that sent to it is over, not before', async () => {
  await store.transaction(async trx => {
    await trx
      .updateTable('webhooks')
      .set({ lease: newUuid(), leased_until: sql<Date>`now() + interval '1 second'` })
      .where('id', '=', id)
      .execute()
    await writeHostEvent(trx, { event: 'host.problem', host: 'taken-over' })
  })
  const { until } = await store.db
    .selectFrom('webhooks')
    .select('leased_until as until')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await vi.waitFor(() => expect(receiver.events).toHaveLength(1), PATIENT)
  const [row] = (await api.listWebhookDeliveries({ params: { id } })).items
  expect(Date.parse(row?.attemptedAt ?? '')).toBeGreaterThanOrEqual(until?.getTime() ?? Infinity)
})

test('no event is lost when the database ends all connections while events are sent', async () => {
  receiver.behave(response => setTimeout(() => ACCEPTS(response), 5))
  await tell(20)
  const ids = new Set<string>()
  for (let cut = 0; cut < 2; cut++) {
    await vi.waitFor(() => expect(receiver.events.length).toBeGreaterThan(cut), PATIENT)
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(store.db)
  }
  await vi.waitFor(async () => expect(await waiting()).toBe(0), PATIENT)
  for (const event of receiver.events) ids.add(event.id)
  expect(ids.size).toBe(20)
})
