import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, type AuditEntry, UserId } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { addMasterKey, masterKeyPath } from '../../../manager/secrets/master-key-file.ts'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { ADMIN, signedApi, startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'
import { startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let manager: TestManager
let admin: Awaited<ReturnType<TestManager['signIn']>>
beforeAll(async () => {
  manager = await startTestManager()
  admin = await manager.signIn()
})
afterAll(() => manager[Symbol.asyncDispose]())

type Query = NonNullable<Parameters<typeof admin.api.listAuditLog>[0]>['query']
const newest = async (query: Query = {}, api = admin.api) => (await api.listAuditLog({ query })).items
const download = async (token: string, query = '') => {
  const headers = { authorization: `Bearer ${token}` }
  const reply = await fetch(`${manager.url}/api/v1/audit-log/export${query}`, { headers })
  return { status: reply.status, type: reply.headers.get('content-type'), text: await reply.text() }
}

describe('the audit log of changes', () => {
  test('names of files in a private folder are for its owner and superadmins, those in folders of a project for the domain', async () => {
    const person = await manager.addUser('private@example.org')
    const lead = await manager.addUser('lead-of-private@example.org', 'domain_admin')
    const { id: folder } = await person.api.createFolder({ body: { name: 'private' } })
    const [group] = (await admin.api.listGroups()).items
    if (!group) throw new Error('no project')
    await admin.api.addGroupMember({ params: { id: group.id, userId: UserId.parse(person.id) } })
    const { id: ofProject } = await admin.api.createFolder({ body: { name: 'of-project', group: group.id } })
    await admin.api.makeDirectory({ params: { id: ofProject }, body: { path: 'plans', parents: false } })
    const params = { id: folder }
    await person.api.makeDirectory({ params, body: { path: 'application-for-another-job', parents: false } })
    const paths = ['application-for-another-job']
    await person.api.moveFiles({ params, body: { paths, to: '', name: 'medical-report', onConflict: 'fail' } })
    await person.api.importFiles({
      params: { id: ofProject },
      body: { from: folder, paths: ['medical-report'], to: 'plans', mode: 'copy', onConflict: 'fail' },
    })
    await person.api.deleteFiles({ params, body: { paths: ['medical-report'] } })
    const NAMES = /another-job|medical-report/
    const seenBy = async (api: ApiClient) =>
      JSON.stringify(await newest({ limit: 20, target: `folder:${folder}` }, api))
    expect(await seenBy(lead.api)).toContain('"count":1')
    expect(await seenBy(lead.api)).not.toMatch(NAMES)
    expect(await seenBy(admin.api)).toMatch(NAMES)
    const imported = await newest({ limit: 5, target: `folder:${ofProject}` }, lead.api)
    expect(JSON.stringify(imported)).not.toMatch(NAMES)
    const { text } = await download(lead.token, `?format=jsonl&target=folder:${folder}`)
    expect(text).not.toMatch(NAMES)
    const own = await manager.addUser('lead-with-files@example.org', 'domain_admin')
    const { id } = await own.api.createFolder({ body: { name: 'own' } })
    await own.api.makeDirectory({ params: { id }, body: { path: 'my-plans', parents: false } })
    expect(JSON.stringify(await newest({ target: `folder:${id}` }, own.api))).toContain('my-plans')
    expect(JSON.stringify(await newest({ target: `folder:${id}` }, lead.api))).not.toContain('my-plans')
  })

  test('an import names every account that it made, in as many rows as that takes', async () => {
    const rows = Array.from({ length: 101 }, (_, at) => ({ email: `of-many-${at}@example.org` }))
    const { items } = await admin.api.importUsers({ body: { rows } })
    const told = await newest({ action: 'importUsers' })
    expect(told.map(({ detail }) => detail.made)).toEqual([101, 101, 101])
    const named = told.flatMap(({ detail }) => detail.ids as string[])
    expect(named.toSorted()).toEqual(items.map(({ id }) => String(id)).toSorted())
  })

  test('an entry has the actor, the object, its owner and the address, before the reply arrives', async () => {
    const { id } = await admin.api.createUser({
      body: { mustChangePassword: false, email: 'made@example.org', name: 'Made', password: 'Their-own-pass-1' },
    })
    expect((await newest({ limit: 1 }))[0]).toMatchObject({
      actor: ADMIN.email,
      action: 'createUser',
      target: `user:${id}`,
      result: 'ok',
      address: '127.0.0.1',
    })
    await admin.api.updateUser({ params: { id }, body: { name: 'Other', active: false } })
    expect((await newest({ limit: 1 }))[0]).toMatchObject({
      action: 'updateUser',
      target: `user:${id}`,
      actedAs: 'made@example.org',
      detail: { fields: ['name', 'active'], active: false },
    })
  })

  test('a file that was written is recorded with its path, and with no fields of its own', async () => {
    const { id } = await admin.api.createFolder({ body: { name: 'written' } })
    const sent = await fetch(`${manager.url}/api/v1/folders/${id}/content?path=notes.txt`, {
      method: 'PUT',
      headers: {
        ...{ authorization: `Bearer ${admin.token}`, 'content-type': 'application/octet-stream' },
        'if-none-match': '*',
      },
      body: 'text',
    })
    expect(sent.status).toBe(200)
    const [entry] = await newest({ limit: 1 })
    expect(entry).toMatchObject({ action: 'writeFile', result: 'ok', target: `folder:${id}` })
    expect(entry?.detail).toEqual({ path: 'notes.txt' })
  })

  test('sign-ins, failed sign-ins and sign-outs are recorded, without anything that was typed', async () => {
    const { id } = await manager.addUser('signs@example.org')
    const attempt = (email: string, password: string) =>
      manager
        .api()
        .login({ body: { email, password, kind: 'token' } })
        .catch((error: unknown) => error)
    await attempt('SIGNS@example.org', 'not-the-password')
    expect((await newest({ limit: 1 }))[0]).toMatchObject({
      actor: null,
      action: 'login',
      target: `user:${id}`,
      result: 'login_failed',
      domain: 'default',
      detail: {},
    })
    await attempt('a-password-in-the-wrong-field', 'x')
    expect((await newest({ limit: 1 }))[0]).toMatchObject({ action: 'login', target: null, result: 'login_failed' })
    const own = await manager.signIn({ email: 'signs@example.org', password: 'Their-own-pass-1' })
    expect((await newest({ limit: 1 }))[0]).toMatchObject({ actor: 'signs@example.org', action: 'login', result: 'ok' })
    await own.api.logout()
    const [out] = await newest({ limit: 1 })
    expect(out).toMatchObject({ actor: 'signs@example.org', action: 'logout', result: 'ok' })
  })

  test('refused, failed and signed requests are recorded', async () => {
    const user = await manager.addUser('user@example.org')
    const unknown = '00000000-0000-7000-8000-000000000000'
    await expect(user.api.forgetAgent({ params: { id: unknown } })).rejects.toThrow()
    expect((await newest({ limit: 1 }))[0]).toMatchObject({
      actor: 'user@example.org',
      action: 'forgetAgent',
      target: `agent:${unknown}`,
      result: 'forbidden',
    })
    await rawRequest(`${manager.url}/api/v1/keypairs`, { method: 'POST', body: '{"broken', headers: {} })
    expect((await newest({ limit: 1 }))[0]).toMatchObject({
      actor: null,
      action: 'createKeypair',
      result: 'not_signed_in',
    })
    const headers = { authorization: `Bearer ${user.token}` }
    await rawRequest(`${manager.url}/api/v1/keypairs`, { method: 'POST', body: '{"broken', headers })
    expect((await newest({ limit: 1 }))[0]).toMatchObject({
      action: 'createKeypair',
      result: 'bad_request',
      detail: {},
    })

    const keypair = await user.api.createKeypair({ body: {} })
    const other = await user.api.createKeypair({ body: {} })
    const { accessKey } = keypair
    const signed = signedApi(manager.url, keypair)
    await signed.updateKeypair({ params: { accessKey: other.accessKey }, body: { active: false } })
    expect((await newest({ limit: 1 }))[0]).toMatchObject({
      actor: 'user@example.org',
      target: `keypair:${other.accessKey}`,
      detail: { active: false, keypair: accessKey },
    })
    await admin.api.deleteKeypair({ params: { accessKey } })
    expect((await newest({ limit: 1 }))[0]).toMatchObject({
      actor: ADMIN.email,
      actedAs: 'user@example.org',
      action: 'deleteKeypair',
      target: `keypair:${accessKey}`,
    })
    const before = (await newest({ limit: 1 }))[0]?.id
    await user.api.listKeypairs({ query: {} })
    await rawRequest(`${manager.url}/api/v1/nothing`, { method: 'POST', body: '{}', headers })
    expect((await newest({ limit: 1 }))[0]?.id).toBe(before)
  })

  test('events without a request are recorded: links and tokens made on this computer, joining agents, a new master key', async () => {
    await manager.manager.createSignInTicket()
    expect((await newest({ limit: 1 }))[0]).toMatchObject({ actor: null, action: 'createSignInTicket', address: null })
    await using data = await temporaryDirectory()
    await (await startTestManager({ dataDir: data.path }))[Symbol.asyncDispose]()
    await addMasterKey(masterKeyPath(data.path))
    await using again = await startTestManager({ dataDir: data.path })
    const rows = await newest({ action: 'rotateMasterKey' }, (await again.signIn()).api)
    expect(rows).toHaveLength(1)
    await using cluster = await startSessionsCluster()
    const used = (await cluster.manager.createJoinToken()).join
    const agent = await cluster.join({ join: used })
    await cluster.api.forgetAgent({ params: { id: agent.id } })
    agent.rejoin(used)
    await agent.connect()
    expect(agent.refusal?.code).toBe('join_token_invalid')
    const told = (await cluster.api.listAuditLog({ query: { target: `agent:${agent.id}` } })).items
    expect(told.map(row => [row.action, row.actor, row.result])).toEqual([
      ['agentJoin', null, 'join_token_invalid'],
      ['forgetAgent', ADMIN.email, 'ok'],
      ['agentJoin', null, 'ok'],
    ])
    expect(told[2]?.detail).toEqual({ resourceGroup: 'default' })
  })
})

describe('reading the audit log', () => {
  test('admins of a domain read what was done by and for its users, but nothing of superadmins', async () => {
    await admin.api.createDomain({ body: { name: 'lab' } })
    const password = 'Their-own-pass-1'
    const make = async (email: string, role: 'user' | 'domain_admin') => {
      const { id } = await admin.api.createUser({
        body: { mustChangePassword: false, email, name: email, password, role, domain: 'lab' },
      })
      return { id, ...(await manager.signIn({ email, password })) }
    }
    const boss = await make('boss@example.org', 'domain_admin')
    const member = await make('member@example.org', 'user')
    await member.api.createKeypair({ body: {} })
    await admin.api.updateUser({ params: { id: member.id }, body: { name: 'Renamed' } })
    const of = { name: 'Chief', password, role: 'superadmin', domain: 'lab' } as const
    const chief = await admin.api.createUser({ body: { mustChangePassword: false, ...of, email: 'chief@example.org' } })
    const rename = (api: typeof boss.api) => api.updateUser({ params: { id: chief.id }, body: { name: 'Renamed' } })
    await rename(admin.api)
    await expect(rename(boss.api)).rejects.toMatchObject({ code: 'user_not_found' })
    const guess = manager.signIn({ email: chief.email, password: 'not-the-password' })
    await expect(guess).rejects.toMatchObject({ code: 'login_failed' })
    const told = await newest({ target: `user:${chief.id}` })
    expect(told.map(row => row.domain)).toEqual([null, null, null, null])
    const seen = await newest({ limit: 500 }, boss.api)
    expect(new Set(seen.map(row => row.domain))).toEqual(new Set(['lab']))
    expect(seen.map(row => `${String(row.actor)} ${row.action}`)).toEqual(
      expect.arrayContaining([
        'member@example.org createKeypair',
        `${ADMIN.email} updateUser`,
        'boss@example.org login',
      ]),
    )
    expect(seen.map(row => row.action)).not.toContain('createDomain')
    expect(JSON.stringify(seen)).not.toMatch(new RegExp(`${chief.id}|${chief.email}`))
    const exported = await download(boss.token)
    expect(
      exported.text
        .trim()
        .split('\n')
        .map(line => (JSON.parse(line) as AuditEntry).domain),
    ).not.toContain('default')
    await expect(newest({}, member.api)).rejects.toMatchObject({ code: 'forbidden' })
    expect((await download(member.token)).status).toBe(403)
  })

  test('targets have the names that they have now, and a reader of one domain gets none of other domains', async () => {
    await admin.api.createDomain({ body: { name: 'named' } })
    const { user: superadmin } = await admin.api.me()
    const chief = await manager.addUser('chief@named.example.org', 'domain_admin', 'named')
    const member = await manager.addUser('member@named.example.org', 'user', 'named')
    const stranger = await manager.addUser('stranger@example.org')
    const { id: folder } = await stranger.api.createFolder({ body: { name: 'of-a-stranger' } })
    const { id: own } = await member.api.createFolder({ body: { name: 'of-a-member' } })
    await member.api.trashFolder({ params: { id: folder } }).catch(() => undefined)
    await chief.api.updateUser({ params: { id: member.id }, body: { name: 'Other' } })
    await chief.api.updateUser({ params: { id: superadmin.id }, body: { name: 'Other' } }).catch(() => undefined)
    await member.api.trashFolder({ params: { id: own } })
    const namesOf = async (api: ApiClient) => {
      const items = await newest({ limit: 100 }, api)
      return Object.fromEntries(
        items.map(({ target, targetName }): [string, string | null] => [target ?? '', targetName]),
      )
    }
    expect(await namesOf(chief.api)).toMatchObject({
      [`user:${member.id}`]: 'member@named.example.org',
      [`folder:${own}`]: 'of-a-member',
      [`folder:${folder}`]: null,
    })
    expect(await namesOf(admin.api)).toMatchObject({
      [`folder:${folder}`]: 'of-a-stranger',
      [`user:${superadmin.id}`]: ADMIN.email,
    })
    await member.api.deleteFolder({ params: { id: own } })
    await expect.poll(() => namesOf(admin.api)).toMatchObject({ [`folder:${own}`]: null })
  })

  test('that somebody opened the console is not in the log', async () => {
    await admin.api.recordVisit()
    expect(await newest({ action: 'recordVisit' })).toEqual([])
  })

  test('admins of a domain read nothing of another one that had its name before', async () => {
    const password = 'Their-own-pass-1'
    const made = async (email: string) => {
      await admin.api.createDomain({ body: { name: 'again' } })
      const { id } = await admin.api.createUser({
        body: { mustChangePassword: false, email, name: email, password, role: 'domain_admin', domain: 'again' },
      })
      return { id, ...(await manager.signIn({ email, password })) }
    }
    const first = await made('first-boss@example.org')
    await admin.api.updateUser({ params: { id: first.id }, body: { domain: 'default', active: false } })
    await admin.api.updateDomain({ params: { name: 'again' }, body: { active: false } })
    await admin.api.deleteDomain({ params: { name: 'again' }, query: { purge: 'true' } })
    const next = await made('next-boss@example.org')
    const rows = await newest({ limit: 500 }, next.api)
    expect(rows.map(({ action, actor }) => [action, actor])).toEqual([['login', 'next-boss@example.org']])
    expect((await download(next.token)).text).not.toContain('first-boss@example.org')
    expect(await newest({ limit: 500, actor: 'first-boss@example.org' })).not.toEqual([])
    await admin.api.updateUser({ params: { id: next.id }, body: { domain: 'default', active: false } })
    await admin.api.updateDomain({ params: { name: 'again' }, body: { active: false } })
    await admin.api.deleteDomain({ params: { name: 'again' }, query: { purge: 'true' } })
  })

  test('the log is paged and filtered by actor, action, target and time', async () => {
    const { api, id } = await manager.addUser('filtered@example.org')
    const from = new Date().toISOString()
    const made = await api.createKeypair({ body: {} })
    const to = new Date(Date.now() + 1).toISOString()
    await api.createKeypair({ body: {} })
    for (const actor of ['Filtered@example.org', id]) {
      const rows = await newest({ actor, action: 'createKeypair' })
      expect(rows).toHaveLength(2)
    }
    expect(await newest({ target: `keypair:${made.accessKey}` })).toHaveLength(1)
    expect((await newest({ target: 'keypair:', actor: id })).length).toBe(2)
    expect((await newest({ actor: id, from, to })).map(row => row.target)).toContain(`keypair:${made.accessKey}`)
    expect(await newest({ actor: id, to: from, action: 'createKeypair' })).toEqual([])
    const first = await admin.api.listAuditLog({ query: { limit: 2 } })
    const second = await admin.api.listAuditLog({ query: { limit: 2, cursor: String(first.nextCursor) } })
    const ids = async (query: Query) => (await newest(query)).map(({ id }) => id)
    const rising = await ids({ sort: 'at', limit: 500 })
    expect(rising).toEqual(rising.toSorted((a, b) => a - b))
    expect(second.items[0]?.id).toBeLessThan(first.items[1]?.id ?? 0)
    await expect(newest({ cursor: 'x' })).rejects.toMatchObject({ code: 'bad_request' })
  })

  test('an export has all rows, oldest first, in both forms, and formulas are text', async () => {
    await using store = await storeOf(manager)
    await sql`insert into audit_log (action, result, actor) values ('=cmd|x', 'ok', 'a "b", c')`.execute(store.db)
    await sql`insert into audit_log (action, result) select 'filler', 'ok' from generate_series(1, 2500)`.execute(
      store.db,
    )
    const { text } = await download(admin.token)
    const ids = text
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as AuditEntry).id)
    const { rows } = await sql<{ count: number }>`select count(*) as count from audit_log`.execute(store.db)
    expect(ids).toHaveLength(rows[0]?.count ?? 0)
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    const csv = await download(admin.token, '?format=csv')
    expect(csv.type).toContain('text/csv')
    expect(csv.text.split('\r\n')).toHaveLength(ids.length + 2)
    expect(csv.text).toContain(`,"a ""b"", c",,,,'=cmd|x,`)
    const made = await newest({ action: 'createDomain', limit: 500 })
    const filtered = await download(admin.token, '?format=csv&action=createDomain')
    expect(filtered.text.split('\r\n')).toHaveLength(made.length + 2)
  })
})

/** Another connection to the same database. */
async function storeOf({ dataDir, config }: TestManager): Promise<Store> {
  return await openToRead({ dataDir, databaseUrl: config.databaseUrl, log: silentLog })
}
