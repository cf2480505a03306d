import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from 'kysely'
import { type ApiClient } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { codeOf, PASSWORD } from './account-steps.ts'
import { ERROR, GROUP, PATCH, scimClient, type ScimRequest, USER } from './scim-steps.ts'

/**
 * SCIM 2.0 as identity providers speak it. What RFC 7643 and 7644 demand of a service provider without optional parts, and the requests that
 * Okta and Entra ID really send.
 */
let manager: TestManager
let admin: ApiClient
let token: string
beforeAll(async () => {
  manager = await startTestManager()
  admin = (await manager.signIn()).api
  await admin.createDomain({ body: { name: 'lab' } })
  token = (await admin.createScimToken({ body: { name: 'Okta', domain: 'lab' } })).token
  request = scimClient(manager.url, token)
})
afterAll(() => manager[Symbol.asyncDispose]())

let request: ScimRequest
const scim: ScimRequest = (...of) => request(...of)

let people = 0
function aUser(more: Record<string, unknown> = {}) {
  people += 1
  const userName = `scim-${people}@example.org`
  return {
    schemas: [USER],
    userName,
    externalId: `00u${people}`,
    name: { givenName: 'Ada', familyName: `Number ${people}` },
    emails: [{ value: userName, type: 'work', primary: true }],
    active: true,
    ...more,
  }
}
const made = async (more?: Record<string, unknown>) => (await scim('POST', '/Users', aUser(more))).body
const patch = (id: string, ...Operations: unknown[]) => scim('PATCH', `/Users/${id}`, { schemas: [PATCH], Operations })
const filtered = (kind: 'Users' | 'Groups', filter: string, more = '') =>
  scim('GET', `/${kind}?filter=${encodeURIComponent(filter)}${more}`)

describe('the service', () => {
  test('describes itself (RFC 7643, sections 5 to 7)', async () => {
    const { body, headers } = await scim('GET', '/ServiceProviderConfig')
    expect(headers.get('content-type')).toContain('application/scim+json')
    expect(body).toMatchObject({ patch: { supported: true }, bulk: { supported: false }, filter: { supported: true } })
    const types = await scim('GET', '/ResourceTypes')
    expect(types.body.Resources.map(({ id }) => id)).toEqual(['User', 'Group'])
    expect((await scim('GET', `/Schemas/${USER}`)).body).toMatchObject({ id: USER, name: 'User' })
    expect((await scim('GET', '/ResourceTypes/Robot')).status).toBe(404)
  })

  test('takes SCIM tokens only, in the form of an error of SCIM', async () => {
    const refused = await scim('GET', '/Users', undefined, 'berth_unknown')
    expect(refused).toMatchObject({ status: 401, body: { schemas: [ERROR], status: '401' } })
    expect(refused.headers.get('www-authenticate')).toContain('Bearer')
    const { token: signIn } = await manager.addUser('scim-admin@example.org', 'superadmin')
    expect((await scim('GET', '/Users', undefined, signIn)).status).toBe(401)
    expect(await codeOf(manager.api(token).me())).toBe('not_signed_in')
  })
})

describe('users', () => {
  test('are made, read, replaced and deleted', async () => {
    const given = aUser()
    const { status, body, headers } = await scim('POST', '/Users', given)
    expect(status).toBe(201)
    expect(body).toMatchObject({ ...given, meta: { resourceType: 'User' } })
    expect(headers.get('location')).toMatch(new RegExp(`/scim/v2/Users/${body.id}$`))
    expect((await scim('GET', `/Users/${body.id}`)).body).toEqual(body)
    const account = await admin.getUser({ params: { id: body.id } })
    expect(account).toMatchObject({ email: given.userName, domain: 'lab', role: 'user', passwordFrom: 'nobody' })
    const replaced = await scim('PUT', `/Users/${body.id}`, { ...given, displayName: 'Ada L.', externalId: 'new' })
    expect(replaced).toMatchObject({ status: 200, body: { displayName: 'Ada L.', externalId: 'new' } })
    expect((await admin.getUser({ params: { id: body.id } })).name).toBe('Ada L.')
    expect((await scim('DELETE', `/Users/${body.id}`)).status).toBe(204)
    expect((await scim('GET', `/Users/${body.id}`)).status).toBe(404)
    expect((await admin.getUser({ params: { id: body.id } })).active).toBe(false)
    // The same person again is the same account.
    expect(await scim('POST', '/Users', given)).toMatchObject({ status: 201, body: { id: body.id, active: true } })
  })

  test('are unique: 409 with the type uniqueness', async () => {
    const given = aUser()
    await scim('POST', '/Users', given)
    for (const again of [
      given,
      { ...aUser(), userName: given.userName.toUpperCase() },
      { ...aUser(), emails: given.emails },
    ])
      expect(await scim('POST', '/Users', again)).toMatchObject({
        status: 409,
        body: { schemas: [ERROR], scimType: 'uniqueness', status: '409' },
      })
    const other = await made()
    expect((await patch(other.id, { op: 'replace', path: 'userName', value: given.userName })).status).toBe(409)
  })

  test('that were deleted do not come back in another domain, to which they are moved meanwhile', async () => {
    const given = aUser()
    const { id } = (await scim('POST', '/Users', given)).body
    await scim('DELETE', `/Users/${id}`)
    await using store = await openToRead({ ...manager.source, log: silentLog })
    const [locked, moved] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    const move = store.db.transaction().execute(async trx => {
      await sql`select from users where id = ${id}::uuid for update`.execute(trx)
      locked.resolve(undefined)
      await moved.promise
      await sql`update users set domain = 'default' where id = ${id}::uuid`.execute(trx)
    })
    await locked.promise
    const again = scim('POST', '/Users', given)
    const waiting = sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(async () => (await waiting.execute(store.db)).rows[0]?.count).toBeGreaterThan(0)
    moved.resolve(undefined)
    await move
    expect((await again).status).toBe(409)
    expect(await admin.getUser({ params: { id } })).toMatchObject({ domain: 'default', active: false })
  })

  test('are refused where they are not valid', async () => {
    for (const wrong of [
      {},
      aUser({ userName: '' }),
      aUser({ userName: 'no-address', emails: undefined }),
      aUser({ emails: 'x' }),
    ])
      expect(await scim('POST', '/Users', wrong)).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } })
    expect((await scim('GET', '/Users/not-an-id')).status).toBe(404)
    expect((await scim('GET', '/Users/019a0000-0000-7000-8000-000000000000')).status).toBe(404)
  })

  test('are found by filters and pages', async () => {
    const { id, userName = '', externalId = '' } = await made({ displayName: 'Grace (H.)' })
    for (const filter of [
      `userName eq "${userName}"`,
      `userName Eq "${userName.toUpperCase()}"`,
      `externalId eq "${externalId}"`,
      `id eq "${id}"`,
      `${USER}:userName eq "${userName}"`,
      `emails.value eq "${userName}"`,
      `emails[type eq "work" and value co "${userName}"]`,
      `(displayName sw "grace" and not (active eq false)) or displayName eq "nobody"`,
    ]) {
      const { body } = await filtered('Users', filter)
      expect(
        body.Resources.map(one => one.id),
        filter,
      ).toEqual([id])
    }
    expect((await filtered('Users', 'userName eq "nobody@example.org"')).body).toMatchObject({
      totalResults: 0,
      Resources: [],
    })
    expect((await filtered('Users', 'id eq "no-id"')).body.totalResults).toBe(0)
    for (const wrong of [
      'userName',
      'userName eq',
      'userName is "x"',
      '(userName pr',
      'userName eq "x" or',
      '"x" eq userName',
      // Characters that the database cannot have.
      'userName eq "a\\u0000b"',
      'externalId eq "\\ud800"',
    ])
      expect(await filtered('Users', wrong), wrong).toMatchObject({ status: 400, body: { scimType: 'invalidFilter' } })
    const all = await scim('GET', '/Users?count=0')
    expect(all.body.Resources).toEqual([])
    expect(all.body.totalResults).toBeGreaterThan(2)
    const second = await scim('GET', '/Users?startIndex=2&count=1')
    expect(second.body).toMatchObject({ startIndex: 2, itemsPerPage: 1, totalResults: all.body.totalResults })
    expect((await scim('GET', '/Users?startIndex=-5&count=1')).body.startIndex).toBe(1)
  })

  test.each([
    ['Okta', { op: 'replace', value: { active: false } }],
    ['Entra ID', { op: 'Replace', path: 'active', value: 'False' }],
    ['Entra ID, with inner names', { op: 'Add', value: { active: false, 'name.givenName': 'Eva' } }],
  ])('a deactivation as %s sends it ends sign-ins at once', async (_, operation) => {
    const { id, userName = '' } = await made()
    await admin.updateUser({ params: { id }, body: { password: PASSWORD, mustChangePassword: true } })
    const newPassword = 'Own-choice-77!'
    const { token: own } = await manager
      .api()
      .login({ body: { email: userName, password: PASSWORD, newPassword, kind: 'token' } })
    expect(await codeOf(manager.api(own ?? '').me())).toBe('ok')
    expect(await patch(id, operation)).toMatchObject({ status: 200, body: { active: false } })
    expect(await codeOf(manager.api(own ?? '').me())).toBe('not_signed_in')
    expect((await patch(id, { op: 'replace', path: 'active', value: 'True' })).body.active).toBe(true)
    const { items } = await admin.listAuditLog({ query: { action: 'scimChangeUser' } })
    expect(items[0]).toMatchObject({ actor: 'SCIM: Okta', target: userName, detail: { active: true } })
  })

  test('are patched by paths, as Entra ID and Okta send them', async () => {
    const { id } = await made()
    const { status, body } = await patch(
      id,
      { op: 'Replace', path: 'name.familyName', value: 'Lovelace' },
      { op: 'Add', path: 'emails[type eq "work"].value', value: 'lovelace@example.org' },
      { op: 'add', path: 'emails[type eq "home"].value', value: 'home@example.org' },
      { op: 'replace', path: `${USER}:displayName`, value: 'Ada Lovelace' },
      { op: 'remove', path: 'externalId' },
    )
    expect(status).toBe(200)
    expect(body).toMatchObject({
      displayName: 'Ada Lovelace',
      name: { givenName: 'Ada', familyName: 'Lovelace' },
      emails: [
        { value: 'lovelace@example.org', type: 'work' },
        { value: 'home@example.org', type: 'home' },
      ],
    })
    expect(body).not.toHaveProperty('externalId')
    // The address of the account stays: with it, mail for a new password would go elsewhere.
    expect((await admin.getUser({ params: { id } })).email).not.toBe('lovelace@example.org')
    for (const wrong of [
      { op: 'move', path: 'active', value: true },
      { op: 'remove' },
      { op: 'replace', path: 'emails[type ', value: 'x' },
      { op: 'replace', path: 'active', value: 'perhaps' },
    ])
      expect((await patch(id, wrong)).status, JSON.stringify(wrong)).toBe(400)
    expect((await scim('PATCH', `/Users/${id}`, {})).status).toBe(400)
  })

  test('are those of the domain of the token, without superadmins; nobody gets a role', async () => {
    const elsewhere = await manager.addUser('of-default@example.org')
    const boss = await admin.createUser({
      body: { email: 'boss@example.org', name: 'Boss', password: PASSWORD, role: 'superadmin', domain: 'lab' },
    })
    for (const id of [elsewhere.id, boss.id]) {
      expect((await scim('GET', `/Users/${id}`)).status).toBe(404)
      expect((await patch(id, { op: 'replace', path: 'active', value: false })).status).toBe(404)
      expect((await scim('DELETE', `/Users/${id}`)).status).toBe(404)
    }
    expect((await scim('POST', '/Users', aUser({ userName: 'boss@example.org', emails: undefined }))).status).toBe(409)
    const { id } = await made({ roles: [{ value: 'superadmin' }], role: 'superadmin', password: 'Chosen-by-client-1' })
    expect(await admin.getUser({ params: { id } })).toMatchObject({ role: 'user', passwordFrom: 'nobody' })
  })
})

describe('groups', () => {
  const group = async (displayName: string, members: readonly string[] = []) =>
    (await scim('POST', '/Groups', { schemas: [GROUP], displayName, members: members.map(value => ({ value })) })).body
  const projects = async (id: string) => (await admin.getUser({ params: { id } })).groups.map(({ name }) => name)

  test('are projects, and their members are of them', async () => {
    const [ada, bob] = [await made(), await made()]
    const made1 = await group('Vision', [ada.id])
    expect(made1).toMatchObject({ displayName: 'Vision', members: [{ value: ada.id }] })
    expect(await projects(ada.id)).toContain('Vision')
    const change = (...Operations: unknown[]) => scim('PATCH', `/Groups/${made1.id}`, { schemas: [PATCH], Operations })
    await change({ op: 'Add', path: 'members', value: [{ value: bob.id }] })
    expect(await projects(bob.id)).toContain('Vision')
    await change({ op: 'remove', path: `members[value eq "${ada.id}"]` })
    expect(await projects(ada.id)).not.toContain('Vision')
    await change({ op: 'Remove', path: 'members', value: [{ value: bob.id }] })
    expect(await projects(bob.id)).not.toContain('Vision')
    await change({ op: 'replace', value: { id: made1.id, displayName: 'Vision-lab' } })
    expect(
      (await filtered('Groups', 'displayName eq "vision-LAB"', '&excludedAttributes=members')).body.Resources,
    ).toEqual([expect.not.objectContaining({ members: expect.anything() as unknown })])
    await scim('PUT', `/Groups/${made1.id}`, { displayName: 'Vision-lab', members: [{ value: ada.id }] })
    expect(await projects(ada.id)).toContain('Vision-lab')
    expect((await scim('DELETE', `/Groups/${made1.id}`)).status).toBe(204)
    expect((await scim('GET', `/Groups/${made1.id}`)).status).toBe(404)
    expect(await projects(ada.id)).not.toContain('Vision-lab')
    expect(await group('vision-lab')).toMatchObject({ id: made1.id, displayName: 'vision-lab', members: [] })
  })

  test('are unique, take people of the domain only, and never the project of everybody', async () => {
    await group('Speech')
    expect(await scim('POST', '/Groups', { displayName: 'speech' })).toMatchObject({
      status: 409,
      body: { scimType: 'uniqueness' },
    })
    const { id } = await manager.addUser('outside@example.org')
    const speech = (await filtered('Groups', 'displayName eq "Speech"')).body.Resources[0]
    expect(
      await scim('PATCH', `/Groups/${speech?.id}`, {
        Operations: [{ op: 'add', path: 'members', value: [{ value: id }] }],
      }),
    ).toMatchObject({ status: 400 })
    for (const displayName of ['', ' ', 'x'.repeat(255), 'a\nb'])
      expect(await scim('POST', '/Groups', { displayName }), displayName).toMatchObject({
        status: 400,
        body: { scimType: 'invalidValue' },
      })
    expect((await filtered('Groups', 'displayName eq "default"')).body.totalResults).toBe(0)
  })

  test('have one entry in the audit log for each change', async () => {
    const { body } = await scim('POST', '/Groups', { schemas: [GROUP], displayName: 'Audited once' })
    await scim('PUT', `/Groups/${body.id}`, { schemas: [GROUP], displayName: 'Audited once more' })
    const { items } = await admin.listAuditLog({ query: { action: 'scimChangeGroup' } })
    expect(items.filter(({ target }) => target === 'Audited once more')).toHaveLength(1)
  })

  test('are left as they were by a request with a member who is unknown', async () => {
    const [ada, gone] = [await made(), await made()]
    await scim('DELETE', `/Users/${gone.id}`)
    const members = [{ value: ada.id }, { value: gone.id }]
    expect((await scim('POST', '/Groups', { displayName: 'Halved', members })).status).toBe(400)
    expect((await filtered('Groups', 'displayName eq "Halved"')).body.totalResults).toBe(0)
    const { id } = await group('Whole')
    expect((await scim('PUT', `/Groups/${id}`, { displayName: 'Halved', members })).status).toBe(400)
    expect((await scim('GET', `/Groups/${id}`)).body).toMatchObject({ displayName: 'Whole', members: [] })
    expect(await projects(ada.id)).not.toContain('Whole')
  })

  test('that are made again have the members of the request, and nobody else', async () => {
    const [ada, bob, gone] = [await made(), await made(), await made()]
    const { id } = await group('Returned', [ada.id, gone.id])
    await scim('DELETE', `/Users/${gone.id}`)
    await scim('DELETE', `/Groups/${id}`)
    await admin.addGroupMember({ params: { id, userId: ada.id } })
    expect(await group('Returned', [bob.id])).toMatchObject({ id, members: [{ value: bob.id }] })
    for (const { id: of } of [ada, gone]) expect(await projects(of)).not.toContain('Returned')
  })
})

describe('names of groups', () => {
  const named = (displayName: string) => scim('POST', '/Groups', { schemas: [GROUP], displayName })
  const projectOf = async (id: string) => {
    const { items } = await admin.listGroups({ query: { domain: 'lab' } })
    return items.find(one => one.id === id)?.name
  }
  const rename = (id: string, displayName: string) =>
    scim('PATCH', `/Groups/${id}`, { Operations: [{ op: 'replace', path: 'displayName', value: displayName }] })

  test('may be any; the project has one that Berth takes', async () => {
    const { status, body } = await named('Data Science Team')
    expect([status, body.displayName, await projectOf(body.id)]).toEqual([
      201,
      'Data Science Team',
      'Data-Science-Team',
    ])
    const found = await filtered('Groups', 'displayName eq "data science TEAM"')
    expect(found.body.Resources).toMatchObject([{ id: body.id, displayName: 'Data Science Team' }])
    expect((await named('data science team')).status).toBe(409)
    const second = await named('Data/Science Team')
    expect([second.status, await projectOf(second.body.id)]).toEqual([201, 'Data-Science-Team-2'])
    expect(await rename(second.body.id, 'Data Science Team')).toMatchObject({
      status: 409,
      body: { scimType: 'uniqueness' },
    })
    await rename(second.body.id, '통계 팀 B')
    expect(await projectOf(second.body.id)).toBe('B')
    // Deleted and made again, it is the same project.
    await scim('DELETE', `/Groups/${body.id}`)
    expect((await named('Data Science Team')).body).toMatchObject({ id: body.id, displayName: 'Data Science Team' })
  })

  test('stay with the client when an administrator names the project otherwise', async () => {
    const { body } = await named('Robotics Lab')
    await admin.updateGroup({ params: { id: body.id }, body: { name: 'robots' } })
    const read = await scim('GET', `/Groups/${body.id}`)
    expect(read.body.displayName).toBe('Robotics Lab')
    await scim('PUT', `/Groups/${body.id}`, { displayName: 'Robotics Lab', externalId: 'r' })
    expect(await projectOf(body.id)).toBe('robots')
    await rename(body.id, 'Robotics')
    expect(await projectOf(body.id)).toBe('Robotics')
  })

  test('are unique when two requests come at a time', async () => {
    const both = await Promise.all([named('At the same time'), named('At the same time')])
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409])
    expect((await filtered('Groups', 'displayName eq "At the same time"')).body.totalResults).toBe(1)
    const { items } = await admin.listGroups({ query: { domain: 'lab' } })
    expect(items.filter(({ name }) => name.startsWith('At-the-same-time'))).toHaveLength(1)
  })
})

describe('tokens', () => {
  test('are of a domain, shown once, and end with the right of their maker', async () => {
    const { api, id } = await manager.addUser('lab-admin@example.org', 'domain_admin', 'lab')
    expect(await codeOf(api.createScimToken({ body: { name: 'x', domain: 'default' } }))).toBe('domain_not_found')
    const { token: own, ...shown } = await api.createScimToken({ body: { name: 'Entra' } })
    expect(shown).toMatchObject({ domain: 'lab', createdBy: 'lab-admin@example.org', lastUsedAt: null })
    expect((await scim('GET', '/Users?count=1', undefined, own)).status).toBe(200)
    const listed = await api.listScimTokens()
    expect(JSON.stringify(listed)).not.toContain(own)
    expect(listed.baseUrl).toMatch(/\/scim\/v2$/)
    expect(listed.items.find(one => one.id === shown.id)?.lastUsedAt).not.toBeNull()
    await admin.updateUser({ params: { id }, body: { role: 'user' } })
    expect((await scim('GET', '/Users', undefined, own)).status).toBe(401)
    await admin.updateUser({ params: { id }, body: { role: 'domain_admin' } })
    expect((await scim('GET', '/Users?count=1', undefined, own)).status).toBe(200)
    await admin.deleteScimToken({ params: { id: shown.id } })
    expect((await scim('GET', '/Users', undefined, own)).status).toBe(401)
    expect(await codeOf(admin.deleteScimToken({ params: { id: shown.id } }))).toBe('scim_token_not_found')
  })
})
