import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { GroupId, SessionId, UserId } from '#manager/contract'
import { insertUser } from '../../../manager/store/identity/users.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { insertSessions, type NewSession } from '../../../manager/store/sessions/sessions.ts'
import { readLimitUse } from '../../../manager/usage/limit-users.ts'
import { type Caller } from '../../../manager/users/authorize.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { refusal } from '../../fixtures/sessions-cluster.ts'
import { openTestStore, type TestStore } from '../../fixtures/test-store.ts'

/** Use of each limit by user, without a manager, so that the sessions do not change meanwhile. */

const GiB = 2 ** 30
const [ann, bob, eve, project] = [newId(UserId), newId(UserId), newId(UserId), newId(GroupId)]
const KEY = 'AKIAABCDEFGHIJKLMNOP'
let opened: TestStore
const caller = (role: Caller['role'], domain = 'default'): Caller => ({
  ...{ userId: opened.ownerId, email: 'a@b.c', loginId: 'x', keypair: null, scopes: null },
  ...{ role, domain },
})
const use = (
  of: Partial<Parameters<typeof readLimitUse>[2]>,
  who = caller('superadmin'),
): ReturnType<typeof readLimitUse> => readLimitUse(opened.store.db, who, { limit: 100, ...of })

/** A session for each status, with one kernel that holds a core and a GiB. */
async function holds(owner: UserId, change: Partial<NewSession>, ...kernels: readonly string[]): Promise<void> {
  const { db } = opened.store
  const session = aSessionRow(owner, { id: newId(SessionId), ...change })
  await insertSessions(db, [session])
  for (const [n, status] of kernels.entries())
    await sql`insert into kernels (id, session_id, role, status, slots) values
      (gen_random_uuid(), ${session.id}, ${n === 0 ? 'main1' : `sub${n}`}, ${status}, ${JSON.stringify({ cpu: 1000, mem: GiB })}::jsonb)`.execute(
      db,
    )
}

beforeAll(async () => {
  opened = await openTestStore()
  const { db } = opened.store
  await sql`insert into domains (name, limits) values ('lab', '{"cpu":8000}')`.execute(db)
  await sql`insert into resource_policies (name, limits, max_concurrent_sessions)
    values ('small', ${JSON.stringify({ cpu: 4000, mem: 2 * GiB })}::jsonb, 10)`.execute(db)
  await sql`insert into groups (id, domain, name, limits) values (${project}, 'lab', 'vision', '{"cpu":4000}')`.execute(
    db,
  )
  for (const [id, email, domain] of [
    [ann, 'ann@example.org', 'lab'],
    [bob, 'bob@example.org', 'default'],
    [eve, 'eve@example.org', 'lab'],
  ] as const) {
    await insertUser(db, { id, email, name: 'U', role: 'user', password_hash: 'x' })
    await sql`update users set resource_policy = 'small', domain = ${domain} where id = ${id}`.execute(db)
  }
  await sql`insert into keypairs (access_key, user_id, sealed_secret, rate_limit, resource_policy)
    values (${KEY}, ${bob}, 'x', 100, 'small')`.execute(db)
  const inLab = { domain: 'lab', groupId: project }
  await holds(ann, inLab, 'RUNNING', 'TERMINATING')
  await holds(ann, inLab, 'TERMINATED')
  await holds(bob, { keypair: KEY }, 'RUNNING')
  await holds(bob, { domain: 'lab' }, 'SCHEDULED')
})
afterAll(() => opened[Symbol.asyncDispose]())

const ALL = [
  // Two of two GiB, although only two of four cores.
  { kind: 'user', name: 'ann@example.org', held: { cpu: '2', mem: String(2 * GiB) }, sessions: 1 },
  { kind: 'user', name: 'bob@example.org', held: { cpu: '2', mem: String(2 * GiB) }, sessions: 2 },
  { kind: 'keypair', id: KEY, held: { cpu: '1', mem: String(GiB) }, sessions: 1 },
]

test('users and keypairs of a resource policy come by the largest part of any limit; what has ended counts no more', async () => {
  const small = await use({ policy: 'small' })
  expect(small).toMatchObject({
    limits: { cpu: '4', mem: String(2 * GiB) },
    maxSessions: 10,
    shared: null,
    total: 3,
    nextCursor: null,
  })
  expect(small.items.map(({ name }) => name)).toEqual(['bob@example.org', 'ann@example.org', KEY])
  expect(small.items).toMatchObject([ALL[1], ALL[0], ALL[2]])
  const first = await use({ policy: 'small', limit: 2 })
  expect([first.items.length, first.nextCursor]).toEqual([2, '2'])
  expect((await use({ policy: 'small', limit: 2, cursor: '2' })).items).toMatchObject([ALL[2]])
})

test('users of a project and of a domain share its limits, and each has what they hold in it', async () => {
  const shared = { held: { cpu: '2', mem: String(2 * GiB) }, sessions: 1 }
  expect(await use({ groupId: project })).toMatchObject({ limits: { cpu: '4' }, maxSessions: null, shared, total: 1 })
  const lab = await use({ domain: 'lab' })
  expect(lab).toMatchObject({ limits: { cpu: '8' }, shared: { held: { cpu: '3' }, sessions: 2 }, total: 2 })
  expect(lab.items).toMatchObject([{ name: 'ann@example.org' }, { name: 'bob@example.org', held: { cpu: '1' } }])
})

test('an admin of a domain sees its users only, and no other domain; exactly one holder of limits is named', async () => {
  const lab = caller('domain_admin', 'lab')
  expect((await use({ policy: 'small' }, lab)).items.map(({ name }) => name)).toEqual(['ann@example.org'])
  expect((await use({ groupId: project }, lab)).total).toBe(1)
  const other = caller('domain_admin')
  expect((await refusal(use({ groupId: project }, other))).code).toBe('group_not_found')
  expect((await refusal(use({ domain: 'lab' }, other))).code).toBe('domain_not_found')
  expect((await refusal(use({ policy: 'none' }))).code).toBe('resource_policy_not_found')
  for (const wrong of [{}, { policy: 'small', domain: 'lab' }]) {
    expect(await refusal(use(wrong))).toMatchObject({ code: 'bad_request', detail: { cause: 'one_holder_of_limits' } })
  }
})
