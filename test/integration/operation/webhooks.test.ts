import { type KyselyPlugin, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { because, type NewWebhook, type WebhookDelivery, WEBHOOK_EVENTS, type WebhookSpec } from '#manager/contract'
import { startSessionsCluster, type SessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { newUuid } from '../../../manager/store/new-id.ts'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { trimDeliveries } from '../../../manager/store/operation/webhook-deliveries.ts'
import { requeueStarting } from '../../../manager/store/operation/pause.ts'
import {
  writeHostEvent,
  writeSessionEvents,
  writeWaitingEvents,
} from '../../../manager/store/operation/webhook-events.ts'
import { silentLog } from '../../../manager/log.ts'
import { ACCEPTS, startWebhookReceiver, verifyEvent, type WebhookReceiver } from '../../fixtures/webhook-receiver.ts'

/** Webhooks of a whole manager, with a receiver of their own. Pauses between attempts are short, and there are three attempts. */
const PATIENT = { timeout: 120_000, interval: 20 }
let cluster: SessionsCluster
let receiver: WebhookReceiver
const receivers = new AsyncDisposableStack()
beforeAll(async () => {
  cluster = await startSessionsCluster({
    slowTickMs: 200,
    agentLostMs: 500,
    faults: { faultMs: 0, wellMs: 0 },
    webhooks: {
      pollMs: 30,
      statesEveryMs: 100,
      restSeconds: 0,
      pauseAfter: attempts => (attempts < 3 ? 0 : null),
    },
  })
  await cluster.api.updateSettings({ body: { webhookHosts: 'localhost', webhookHttp: true } })
})
afterAll(() => cluster[Symbol.asyncDispose]())
beforeEach(async () => {
  for (const { id } of (await cluster.api.listWebhooks()).items) await cluster.api.deleteWebhook({ params: { id } })
  await cluster.reset()
  receiver = receivers.use(await startWebhookReceiver())
})
afterAll(() => receivers.disposeAsync())

const hook = (spec: Partial<WebhookSpec> = {}, api = cluster.api): Promise<NewWebhook> =>
  api.createWebhook({ body: { name: 'ours', url: receiver.url, events: [...WEBHOOK_EVENTS], ...spec } })
const defaultProject = async () => {
  const { items } = await cluster.api.listGroups()
  const found = items.find(group => group.domain === 'default')
  if (!found) throw new Error('no project')
  return found.id
}
const logOf = async (id: string): Promise<WebhookDelivery[]> =>
  (await cluster.api.listWebhookDeliveries({ params: { id } })).items
/** A session that waits, because its host takes none. */
async function launchWaiting(name?: string) {
  const { id } = await cluster.join()
  await cluster.api.updateAgent({ params: { id }, body: { schedulable: false } })
  return cluster.launch(name === undefined ? {} : { name })
}
const typesOf = () => receiver.events.map(({ json }) => json.type)

test('the life of a session is told in order, signed, with facts and nothing secret', async () => {
  const { secret, id } = await hook()
  await cluster.join()
  const session = await cluster.launch({
    name: 'train-1',
    environ: { TOKEN: 'very-secret' },
    startupCommand: 'echo hidden-words',
    note: 'private note',
  })
  await cluster.reach(session.id, 'RUNNING')
  await cluster.api.deleteSession({ params: { id: session.id } })
  await vi.waitFor(() => expect(typesOf()).toEqual(['session.launched', 'session.started', 'session.ended']), PATIENT)
  for (const event of receiver.events) {
    expect(verifyEvent(secret, event)).toEqual(event.json)
    expect(event.body).not.toMatch(/very-secret|TOKEN|hidden-words|private note/)
  }
  expect(receiver.events[2]?.json).toMatchObject({
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    data: {
      session: { id: session.id, name: 'train-1', owner: 'admin@localhost', domain: 'default', status: 'TERMINATED' },
      reason: { code: 'user_terminated' },
    },
  })
  // The receiver knows of the last one before the log does.
  const delivered = { status: 'delivered', responseStatus: 200, answer: 'thanks' }
  await vi.waitFor(
    async () => expect(await logOf(id)).toMatchObject(Array.from({ length: 3 }, () => delivered)),
    PATIENT,
  )
})

test('a webhook of a project gets the sessions of this project only, and no hosts', async () => {
  const admin = await cluster.addUser('domain-admin@example.org', { role: 'domain_admin' })
  const projectId = (await cluster.api.createGroup({ body: { name: `vision-${Date.now()}` } })).id
  await expect(hook({ projectId: projectId }, admin)).rejects.toMatchObject({ code: 'bad_request' })
  await hook({ projectId: projectId, events: ['session.launched'] }, admin)
  await hook({ name: 'all', url: `${receiver.url}-all`, events: ['session.launched'] })
  await launchWaiting('elsewhere')
  await vi.waitFor(() => expect(receiver.events).toHaveLength(1), PATIENT)
  expect(receiver.events[0]?.path).toBe('/hook-all')
  await expect(hook({}, admin)).rejects.toMatchObject({ code: 'forbidden' })
  expect((await admin.listWebhooks()).items.map(({ name }) => name)).toEqual(['ours'])
})

test.each([
  ['answers 500', response => response.writeHead(500).end('broken'), { fault: 'status', responseStatus: 500 }],
  ['redirects', response => response.writeHead(302, { location: '/x' }).end(), { fault: 'redirect' }],
  ['closes the connection', response => response.destroy(), { fault: 'no_connection', responseStatus: null }],
] as [string, Parameters<WebhookReceiver['behave']>[0], object][])(
  'a receiver that %s gets each event so many times with one id, then it is given up and the owner is told',
  async (_, behaviour, outcome) => {
    receiver.behave(behaviour)
    const { id } = await hook({ name: `fails-${crypto.randomUUID()}`, events: ['session.launched'] })
    await launchWaiting()
    await vi.waitFor(async () => expect(await logOf(id)).toMatchObject([{ status: 'failed' }]), PATIENT)
    expect(await logOf(id)).toMatchObject([{ attempts: 3, nextAt: null, ...outcome }])
    expect(receiver.events).toHaveLength(3)
    expect(new Set(receiver.events.map(event => event.id)).size).toBe(1)
    expect(new Set(receiver.events.map(({ path }) => path))).toEqual(new Set(['/hook']))
    const { items } = await cluster.api.listMessages()
    expect(items[0]).toMatchObject({ about: 'webhook_failing', detail: expect.stringContaining('fails-') as string })
    const [webhook] = (await cluster.api.listWebhooks()).items
    expect(webhook).toMatchObject({ active: true, failingSince: expect.any(String) as string })

    receiver.behave(ACCEPTS)
    const [delivery] = await logOf(id)
    await cluster.api.resendWebhookDelivery({ params: { id, deliveryId: delivery?.id ?? '' } })
    await vi.waitFor(async () => expect(await logOf(id)).toMatchObject([{ status: 'delivered', attempts: 1 }]), PATIENT)
    expect(receiver.events.at(-1)?.id).toBe(delivery?.messageId)
    await vi.waitFor(async () => expect((await cluster.api.listWebhooks()).items[0]?.failingSince).toBeNull(), PATIENT)
  },
)

test('of a huge answer and of one that never ends only the first KiB is read, as plain text', async () => {
  const { id } = await hook({ events: ['session.launched'] })
  receiver.behave(response => {
    response.writeHead(200, { 'content-type': 'text/html' })
    const more = () => response.write(`<b>\u0000\u001b[31m${'x'.repeat(65_536)}`, error => error ?? more())
    more()
  })
  const delivery = await cluster.api.testWebhook({ params: { id } })
  expect(delivery).toMatchObject({ event: 'webhook.test', status: 'delivered', responseStatus: 200 })
  expect(delivery.answer).toHaveLength(1024)
  expect(delivery.answer?.startsWith('<b>\uFFFD\uFFFD[31mxxx')).toBe(true)
  await vi.waitFor(async () => expect(await receiver.connections()).toBe(0), PATIENT)
})

test('a receiver without a success for too long is switched off, as is one that is gone', async () => {
  receiver.behave(response => response.writeHead(500).end())
  const { id } = await hook({ events: ['session.launched'] })
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  await store.db
    .updateTable('webhooks')
    .set({ failing_since: new Date(Date.now() - 4 * 86_400_000) })
    .execute()
  await launchWaiting()
  await vi.waitFor(
    async () => expect((await cluster.api.listWebhooks()).items[0]).toMatchObject({ active: false, off: 'failing' }),
    PATIENT,
  )
  expect((await cluster.api.listMessages()).items[0]).toMatchObject({ about: 'webhook_off', detail: 'ours' })
  const [delivery] = await logOf(id)
  await expect(
    cluster.api.resendWebhookDelivery({ params: { id, deliveryId: delivery?.id ?? '' } }),
  ).rejects.toMatchObject({ code: 'webhook_inactive' })

  receiver.behave(response => response.writeHead(410).end())
  await cluster.api.updateWebhook({ params: { id }, body: { active: true } })
  await launchWaiting()
  await vi.waitFor(
    async () => expect((await cluster.api.listWebhooks()).items[0]).toMatchObject({ active: false, off: 'gone' }),
    PATIENT,
  )
})

test('the right of the owner is read when an event is sent: without it the webhook is off, and the owner is told', async () => {
  const admin = await cluster.addUser('leaves@example.org', { role: 'domain_admin' })
  await hook({ projectId: await defaultProject(), events: ['session.launched'] }, admin)
  const { items: users } = await cluster.api.listUsers()
  const { id } = users.find(({ email }) => email === 'leaves@example.org') ?? { id: '' }
  await cluster.api.updateUser({ params: { id: id }, body: { role: 'user' } })
  await launchWaiting()
  await vi.waitFor(
    async () => expect((await cluster.api.listWebhooks()).items[0]).toMatchObject({ active: false, off: 'owner' }),
    PATIENT,
  )
  expect(receiver.events).toEqual([])
  const leaver = await cluster.signIn('leaves@example.org')
  expect((await leaver.listMessages()).items[0]).toMatchObject({ about: 'webhook_owner' })
  // Another administrator who saves it is its owner.
  const [webhook] = (await cluster.api.listWebhooks()).items
  await cluster.api.updateWebhook({ params: { id: webhook?.id ?? '' }, body: { active: true } })
  await launchWaiting()
  await vi.waitFor(() => expect(receiver.of('session.launched')).toHaveLength(1), PATIENT)
})

test('an owner whose domain was deactivated gets no events', async () => {
  const domain = `lab-${crypto.randomUUID().slice(0, 8)}`
  await cluster.api.createDomain({ body: { name: domain } })
  const { id: projectId } = await cluster.api.createGroup({ body: { name: 'vision', domain } })
  const admin = await cluster.addUser(`${domain}@example.org`, { role: 'domain_admin', domain })
  const { id } = await hook({ projectId, events: ['session.ended'] }, admin)
  await cluster.api.updateDomain({ params: { name: domain }, body: { active: false } })
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  const delivery = { id: newUuid(), webhook_id: id, event: 'session.ended', payload: '{}' }
  await store.db
    .insertInto('webhook_deliveries')
    .values({ ...delivery, next_at: new Date() })
    .execute()
  await vi.waitFor(
    async () => expect((await cluster.api.listWebhooks()).items[0]).toMatchObject({ active: false, off: 'owner' }),
    PATIENT,
  )
  expect(receiver.events).toEqual([])
  expect((await cluster.api.listMessages()).items[0]).toMatchObject({ about: 'webhook_owner' })
})

test('addresses of private networks and of clouds are refused, written out, by name, and without encryption', async () => {
  const { id } = await hook()
  const test = () => cluster.api.testWebhook({ params: { id } })
  expect(await test()).toMatchObject({ status: 'delivered' })
  await cluster.api.updateSettings({ body: { webhookHosts: null } })
  try {
    expect(await test()).toMatchObject({ status: 'failed', fault: 'address_refused', answer: null })
    for (const host of [
      '127.0.0.1',
      '[::1]',
      '10.0.0.1',
      '2130706433',
      '0x7f.1',
      '169.254.169.254',
      '[::ffff:10.0.0.1]',
    ]) {
      await expect(hook({ url: `https://${host}/` }), host).rejects.toMatchObject({ code: 'bad_request' })
    }
    await cluster.api.updateSettings({ body: { webhookHttp: false } })
    expect(await test()).toMatchObject({ status: 'failed', fault: 'not_encrypted' })
    await expect(hook()).rejects.toMatchObject({ code: 'bad_request' })
    await expect(hook({ url: 'https://ada:secret@hooks.example.org/' })).rejects.toMatchObject({ code: 'bad_request' })
  } finally {
    await cluster.api.updateSettings({ body: { webhookHosts: 'localhost', webhookHttp: true } })
  }
  expect(receiver.events).toHaveLength(1)
})

test('addresses and secrets are encrypted in the database and never shown again; a new secret signs with the old one', async () => {
  const { id, secret, ...view } = await hook({ url: `${receiver.url}/services/T0/secret-of-the-room` })
  expect(view.address).toBe(`http://localhost:${receiver.port}`)
  expect(JSON.stringify(await cluster.api.listWebhooks())).not.toMatch(/secret-of-the-room|whsec_/)
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  const { db } = store
  const [row] = await db.selectFrom('webhooks').selectAll().execute()
  expect(JSON.stringify(row)).not.toMatch(/secret-of-the-room|whsec_/)
  const { secret: next } = await cluster.api.rotateWebhookSecret({ params: { id } })
  expect(next).not.toBe(secret)
  await cluster.api.testWebhook({ params: { id } })
  const [event] = receiver.events
  if (!event) throw new Error('no event')
  for (const one of [secret, next]) expect(verifyEvent(one, event)).toMatchObject({ type: 'webhook.test' })
})

test('a chat room gets one line of text', async () => {
  await hook({ form: 'text', events: ['session.launched'] })
  await launchWaiting('train-2')
  await vi.waitFor(() => expect(receiver.events).toHaveLength(1), PATIENT)
  expect(receiver.events[0]?.json).toEqual({
    text: 'Session train-2 of admin@localhost, project default, was launched.',
  })
})

test('a long wait is told once, and a limit once for all sessions that wait for it', async () => {
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  const { db } = store
  await hook({ events: ['session.waiting', 'limit.reached'] })
  const session = await launchWaiting('waits-long')
  await cluster.launch({ name: 'waits-short' })
  await db
    .updateTable('sessions')
    .set({ status_at: new Date(Date.now() - 3_600_000) })
    .where('id', '=', session.id)
    .execute()
  await vi.waitFor(() => expect(receiver.of('session.waiting')).toHaveLength(1), PATIENT)
  expect(receiver.of('session.waiting')[0]?.json).toMatchObject({ data: { session: { name: 'waits-long' } } })
  const projectId = await defaultProject()
  // Before a host takes sessions: otherwise those that wait might start on it first.
  await cluster.api.updateGroup({ params: { id: projectId }, body: { limits: { cpu: '0' } } })
  try {
    await cluster.join()
    for (const name of ['over-1', 'over-2']) await cluster.launch({ name }).catch(() => undefined)
    await vi.waitFor(() => expect(receiver.of('limit.reached')).toHaveLength(1), PATIENT)
    expect(receiver.of('limit.reached')[0]?.json).toMatchObject({ data: { limit: 'project' } })
  } finally {
    await cluster.api.updateGroup({ params: { id: projectId }, body: { limits: {} } })
  }
  expect(receiver.of('session.waiting')).toHaveLength(1)
})

test('two changes of one session in one transaction are told each with its own status and reason', async () => {
  await hook({ events: ['session.started', 'session.ended'] })
  const { id: sessionId } = await launchWaiting()
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  const reason = (code: 'started' | 'exited') => ({ code, message: code })
  await store.transaction(trx =>
    writeSessionEvents(trx, [
      { sessionId, from: 'PREPARING', to: 'RUNNING', reason: reason('started') },
      { sessionId, from: 'RUNNING', to: 'TERMINATED', reason: reason('exited') },
    ]),
  )
  await vi.waitFor(() => expect(receiver.events).toHaveLength(2), PATIENT)
  expect(receiver.events.map(({ json }) => json)).toMatchObject([
    { type: 'session.started', data: { session: { status: 'RUNNING' }, reason: { code: 'started' } } },
    { type: 'session.ended', data: { session: { status: 'TERMINATED' }, reason: { code: 'exited' } } },
  ])
})

test('a webhook is told of so many long waits in an hour, the longest first, and of the others later', async () => {
  await hook({ events: ['session.waiting'] })
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  const { db } = store
  const { id: first } = await launchWaiting('wait-0')
  const others = await Promise.all([1, 2, 3].map(at => cluster.launch({ name: `wait-${at}` })))
  await db.transaction().execute(async trx => {
    // The manager itself, whose bound is far higher, waits for this transaction and tells of none of them.
    await sql`select pg_advisory_xact_lock(hashtextextended('berth:webhook-states', 0))`.execute(trx)
    for (const [at, sessionId] of [first, ...others.map(({ id: one }) => one)].entries()) {
      const status_at = new Date(Date.now() - 7_200_000 + at * 1_000)
      await trx.updateTable('sessions').set({ status_at }).where('id', '=', sessionId).execute()
    }
    const most = { limit: 500, mostInHour: 2 }
    expect([await writeWaitingEvents(trx, most), await writeWaitingEvents(trx, most)]).toEqual([2, 0])
    await sql`update webhook_deliveries set created_at = created_at - interval '1 hour'`.execute(trx)
    expect([await writeWaitingEvents(trx, most), await writeWaitingEvents(trx, most)]).toEqual([2, 0])
  })
  await vi.waitFor(() => expect(receiver.events).toHaveLength(4), PATIENT)
  const names = receiver.events.map(({ json }) => (json.data as { session: { name: string } }).session.name)
  expect(names).toEqual(['wait-0', 'wait-1', 'wait-2', 'wait-3'])
})

test('a host that is lost, back, and has a problem is told to webhooks of the installation', async () => {
  await hook({ events: ['host.lost', 'host.back', 'host.problem', 'host.well'] })
  const agent = await cluster.join({ name: 'gpu-host' })
  await agent.disconnect()
  await vi.waitFor(() => expect(typesOf()).toEqual(['host.lost']), PATIENT)
  await agent.connect()
  await vi.waitFor(() => expect(typesOf()).toEqual(['host.lost', 'host.back']), PATIENT)
  expect(receiver.events[0]?.json).toMatchObject({ data: { host: { name: 'gpu-host' } } })
  agent.hostProblem = because('agent_says', { text: 'The disk is full.' })
  await vi.waitFor(() => expect(typesOf().slice(2)).toEqual(['host.problem']), PATIENT)
  agent.hostProblem = null
  await vi.waitFor(() => expect(typesOf().slice(2)).toEqual(['host.problem', 'host.well']), PATIENT)
  expect(receiver.events[2]?.json).toMatchObject({
    data: { problem: expect.stringContaining('The disk is full.') as string },
  })
})

test('the log of a webhook keeps so many deliveries, and all that wait', async () => {
  const { id } = await hook()
  for (let count = 0; count < 4; count++) await cluster.api.testWebhook({ params: { id } })
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  const [, second] = await logOf(id)
  await trimDeliveries(store.db, 2)
  expect(await logOf(id)).toHaveLength(2)
  expect((await logOf(id))[1]?.id).toBe(second?.id)
  const page = await cluster.api.listWebhookDeliveries({ params: { id }, query: { limit: 1 } })
  expect(page.nextCursor).toBe(page.items[0]?.id)
  const next = await cluster.api.listWebhookDeliveries({
    params: { id },
    query: { limit: 1, cursor: page.nextCursor ?? '' },
  })
  expect(next).toMatchObject({ items: [{ id: second?.id }], nextCursor: null })
})

test('events of the time when the manager was away are sent after it', async () => {
  const { id } = await hook({ events: ['session.launched'] })
  receiver.behave(response => response.destroy())
  await launchWaiting()
  await vi.waitFor(() => expect(receiver.events.length).toBeGreaterThan(0), PATIENT)
  await cluster.restart(() => receiver.behave(ACCEPTS))
  const [delivery] = await logOf(id)
  if (delivery?.status === 'failed')
    await cluster.api.resendWebhookDelivery({ params: { id, deliveryId: delivery.id } })
  await vi.waitFor(async () => expect(await logOf(id)).toMatchObject([{ status: 'delivered' }]), PATIENT)
})

test('a test of a webhook that is deleted meanwhile finds no webhook', async () => {
  const { id } = await hook()
  receiver.behave(response => void cluster.api.deleteWebhook({ params: { id } }).then(() => ACCEPTS(response)))
  await expect(cluster.api.testWebhook({ params: { id } })).rejects.toMatchObject({ code: 'webhook_not_found' })
})

test('a session that waits again after a restore is not told as launched', async () => {
  await hook({ events: ['session.launched'] })
  const { id } = await launchWaiting()
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  const told = await store.transaction(async trx => {
    await trx.updateTable('sessions').set({ status: 'PREPARING' }).where('id', '=', id).execute()
    await requeueStarting(trx)
    return trx.selectFrom('webhook_deliveries').select('event').execute()
  })
  expect(told).toEqual([{ event: 'session.launched' }])
  const { items } = await cluster.api.listSessionEvents({ params: { id } })
  expect(items.at(-1)).toMatchObject({ from: 'PREPARING', to: 'PENDING' })
})

test('an event that was written while its webhook was switched off is dropped', async () => {
  const { id } = await hook()
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  // The transaction of a change saw the webhook active, and commits after the one that switches it off.
  await store.transaction(async trx => {
    await writeHostEvent(trx, { event: 'host.back', host: 'gpu-1' })
    await cluster.api.updateWebhook({ params: { id }, body: { active: false } })
  })
  await vi.waitFor(async () => expect(await logOf(id)).toMatchObject([{ status: 'failed', fault: 'off' }]), PATIENT)
  expect(receiver.events).toEqual([])
})

test('a change happens, and is told to the others, while a webhook that wants it is deleted', async () => {
  const { id } = await hook()
  await hook({ name: 'stays', url: `${receiver.url}-stays` })
  await using store = await openToRead({ ...cluster.source, log: silentLog })
  await store.transaction(async trx => {
    let isDeleted = false
    const deletes: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (!isDeleted) await cluster.api.deleteWebhook({ params: { id } })
        isDeleted = true
        return result
      },
    }
    await writeHostEvent(trx.withPlugin(deletes), { event: 'host.back', host: 'gpu-1' })
  })
  await vi.waitFor(() => expect(receiver.events).toHaveLength(1), PATIENT)
  expect(receiver.events[0]?.path).toBe('/hook-stays')
})
