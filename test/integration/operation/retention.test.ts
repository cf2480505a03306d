import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { AgentId, KernelId, UserId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { createEventBus } from '../../../manager/events/bus.ts'
import { silentLog } from '../../../manager/log.ts'
import { startRetention } from '../../../manager/operation/retention.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { startTestManager } from '../../fixtures/manager.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'

const PASSWORD = 'Their-own-pass-1'

async function world() {
  await using stack = new AsyncDisposableStack()
  const manager = stack.use(await startTestManager())
  const { api } = await manager.signIn()
  const store = stack.use(await openToRead({ ...manager.source, log: silentLog }))
  const opened = stack.move()
  return {
    manager,
    api,
    store,
    /** Runs the retention with the current settings. */
    async retain<T>(check: () => Promise<T>): Promise<T> {
      const settings = { read: () => api.getSettings() }
      await using _ = startRetention({ store, settings, events: createEventBus(), log: silentLog, everyMs: 50 })
      return await check()
    },
    entries: async (action: string) => (await api.listAuditLog({ query: { action } })).items,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

test('an unconfirmed sign-up is deleted in time, which frees its address; other accounts stay', async () => {
  await using it = await world()
  const { api, store, manager } = it
  await api.updateSettings({ body: { allowSignUp: 'open', unconfirmedDays: 3 } })
  const signUp = async (email: string, invitation?: string) => {
    await manager.api().signUp({ body: { email, name: email, password: PASSWORD, invitation } })
    const { items } = await api.listUsers({ query: { search: email } })
    return UserId.parse(items[0]?.id)
  }
  const invitation = await api.createInvitation({ body: {} })
  const old = await signUp('old@example.org', invitation.token)
  // Without mail, an invitation confirms the address; this account is from a Berth that had mail then.
  await sql`update users set email_verified_at = null where id = ${old}`.execute(store.db)
  const linked = await signUp('linked@example.org')
  const equipped = await signUp('equipped@example.org')
  const young = await signUp('young@example.org')
  const confirmed = UserId.parse((await manager.addUser('confirmed@example.org')).id)
  await api.createAccountLink({ params: { id: linked }, body: { purpose: 'verify' } })
  await api.createUserKeypair({ params: { id: equipped }, body: {} })
  await sql`update users set created_at = now() - interval '4 days' where id <> ${young}`.execute(store.db)

  await it.retain(() => expect.poll(async () => (await it.entries('unconfirmedPruned')).length).toBe(1))
  expect((await it.entries('unconfirmedPruned'))[0]?.detail).toEqual({ users: 1, ids: [old], days: 3 })
  const left = (await api.listUsers({ query: { limit: 100 } })).items.map(({ id }) => id)
  expect(left).toEqual(expect.arrayContaining([linked, equipped, young, confirmed]))
  expect(left).not.toContain(old)
  expect((await api.listInvitations()).items).toMatchObject([{ status: 'used', usedBy: null }])
  expect(await signUp('OLD@example.org')).not.toBe(old)
})

test('the audit log is kept for ever or for the set time, and records its own deletions; the database enforces this for everybody', async () => {
  await using it = await world()
  const { api, store } = it
  const insert = (action: string, days: number) =>
    sql`insert into audit_log (action, result, at) values (${action}, 'ok', now() - make_interval(days => ${days}))`.execute(
      store.db,
    )
  for (const days of [400, 200, 70]) await insert(`${days} days`, days)
  const actions = async () => (await api.listAuditLog({ query: { limit: 500 } })).items.map(({ action }) => action)
  await it.retain(() => expect.poll(actions).toContain('400 days'))
  await expect(sql`delete from audit_log`.execute(store.db)).rejects.toThrow('append-only')
  await expect(api.updateSettings({ body: { auditDays: 29 } })).rejects.toMatchObject({ code: 'bad_request' })

  await api.updateSettings({ body: { auditDays: 100 } })
  await it.retain(() => expect.poll(actions).not.toContain('200 days'))
  expect(await actions()).toEqual(expect.arrayContaining(['70 days', 'updateSettings', 'auditPruned']))
  expect(await actions()).not.toContain('400 days')
  const [pruned, ...more] = await it.entries('auditPruned')
  expect(more).toEqual([])
  expect(pruned).toMatchObject({ actor: null, detail: { rows: 2, days: 100 } })
  await expect(sql`delete from audit_log`.execute(store.db)).rejects.toThrow('append-only')
  await expect(sql`delete from audit_log where action = '70 days'`.execute(store.db)).rejects.toThrow('append-only')
  await expect(sql`update audit_log set action = 'x'`.execute(store.db)).rejects.toThrow('append-only')
})

test('sessions that ended long ago are deleted with all their rows, as set; those that are still needed stay', async () => {
  await using it = await world()
  const { api, store } = it
  const owner = UserId.parse((await api.me()).user.id)
  const add = async (change: Parameters<typeof aSessionRow>[1] = {}) => {
    const row = aSessionRow(owner, { status: 'TERMINATED', ...change })
    const kernel = newId(KernelId)
    await insertSessions(store.db, [row])
    await insertKernels(store.db, [{ id: kernel, sessionId: row.id, status: 'TERMINATED', slots: {} }])
    return { id: row.id, kernel }
  }
  const [old, young, needed, lost] = [await add(), await add(), await add(), await add()]
  await sql`update sessions set ended_at = now() - interval '31 days' where id <> ${young.id}`.execute(store.db)
  await sql`update sessions set ended_at = now() - interval '29 days' where id = ${young.id}`.execute(store.db)
  // The needed session has succeeded: the scheduler would cancel who waits for one that failed.
  await sql`update sessions set reason = '{"code": "exited", "message": ""}' where id = ${needed.id}`.execute(store.db)
  await sql`update kernels set exit_code = 0 where id = ${needed.kernel}`.execute(store.db)
  const waiting = await add({ status: 'PENDING', dependsOn: [needed.id] })
  const agent = newId(AgentId)
  await sql`insert into agents (id, name, public_key, resource_group, status, capacity, devices)
    values (${agent}, 'away', 'key', 'default', 'LOST', '{}', '[]')`.execute(store.db)
  await sql`update kernels set agent_id = ${agent} where id = ${lost.kernel}`.execute(store.db)
  const left = async () =>
    (await sql<{ id: string }>`select id from sessions order by id`.execute(store.db)).rows.map(({ id }) => id)
  const ids = (...sessions: readonly { id: string }[]) => sessions.map(({ id }) => id).toSorted()

  await it.retain(() => expect.poll(async () => (await it.entries('sessionsPruned')).length).toBe(0))
  expect(await left()).toEqual(ids(old, young, needed, lost, waiting))
  await api.updateSettings({ body: { sessionDays: 30 } })
  await it.retain(() => expect.poll(async () => (await it.entries('sessionsPruned')).length).toBe(1))
  expect((await it.entries('sessionsPruned'))[0]?.detail).toEqual({ sessions: 1, days: 30 })
  expect(await left()).toEqual(ids(young, needed, lost, waiting))
  await sql`update agents set status = 'CONNECTED' where id = ${agent}`.execute(store.db)
  await it.retain(() => expect.poll(left).toEqual(ids(young, needed, waiting)))
})
