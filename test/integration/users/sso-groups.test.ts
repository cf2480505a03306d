import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RawBuilder, sql } from 'kysely'
import { type ApiClient, type User } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { startWithdrawals } from '../../../manager/sso/withdraw.ts'
import { lockSuperadmins } from '../../../manager/store/identity/users.ts'
import { type TakenBack } from '../../../manager/users/take-back.ts'
import { signedApi } from '../../fixtures/manager.ts'
import { type ProviderPerson } from '../../fixtures/oidc-provider.ts'
import { codeOf, PASSWORD, tokenOf } from './account-steps.ts'
import { newPerson, PROVIDER, type SsoWorld, startSsoWorld } from './sso-steps.ts'

/** Projects and roles given by groups of a provider of OpenID Connect, and how they are taken back. */
let world: SsoWorld
beforeAll(async () => {
  world = await startSsoWorld()
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(async () => {
  world.provider.instead = () => false
  await world.admin.updateSettings({ body: { publicUrl: null } })
  await world.configure()
})

const names = ({ groups }: Pick<User, 'groups'>) => groups.map(({ name }) => name)

describe('groups of the provider', () => {
  const mapping = [
    { group: 'students', projects: ['course'], role: null },
    { group: 'staff', projects: ['course', 'research', 'nowhere'], role: 'domain_admin' as const },
  ]

  test('give projects and a role, and take back what they gave and nothing else', async () => {
    for (const name of ['course', 'research', 'club']) await world.admin.createGroup({ body: { name } })
    await world.configure({ groupsClaim: 'groups', mapping })
    const person = newPerson()
    const { user, token } = await world.signIn({ ...person, groups: ['staff', 'unknown'] })
    expect(names(user)).toEqual(['course', 'default', 'research'])
    expect(user.role).toBe('domain_admin')
    const club = (await world.admin.listGroups()).items.find(({ name }) => name === 'club')?.id ?? ''
    await world.admin.addGroupMember({ params: { id: club, userId: user.id } })
    const down = await world.signIn({ ...person, groups: ['students'] })
    expect(names(down.user)).toEqual(['club', 'course', 'default'])
    expect(down.user.role).toBe('user')
    // The sign-in of the higher role has ended.
    expect(await codeOf(world.manager.api(token ?? '').me())).toBe('not_signed_in')
    const { items } = await world.admin.listAuditLog({ query: { actor: person.email } })
    const details = items.filter(({ action }) => action === 'finishSso').map(({ detail }) => detail)
    expect(details).toEqual([
      expect.objectContaining({ projectsRemoved: 'research', roleBefore: 'domain_admin', role: 'user' }),
      expect.objectContaining({
        projectsAdded: 'course, research',
        projectsUnknown: 'nowhere',
        roleBefore: 'user',
        role: 'domain_admin',
      }),
    ])
  })

  test('end what others knew and made when they raise somebody, as an administrator who does it by hand', async () => {
    const person = newPerson()
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'heads', projects: [], role: 'domain_admin' }] })
    const { user, token } = await world.signIn({ ...person, groups: [] })
    const own = await world.manager.api(token ?? '').createKeypair({ body: {} })
    await world.admin.createUserKeypair({ params: { id: user.id }, body: {} })
    const raised = await world.signIn({ ...person, groups: ['heads'] })
    expect(raised.user.role).toBe('domain_admin')
    const { items } = await world.manager.api(raised.token ?? '').listKeypairs({ query: { mine: 'true' } })
    expect(items).toMatchObject([{ accessKey: own.accessKey, active: false }])
  })

  test('tell what was set with keypairs that end with a role, by whatever way, and with the first link', async () => {
    const mapping = [{ group: 'heads', projects: [], role: 'domain_admin' as const }]
    await world.configure({ groupsClaim: 'groups', mapping })
    const person = newPerson()
    const enter = async (...groups: string[]) => {
      const { user, token } = await world.signIn({ ...person, groups })
      return { api: world.manager.api(token ?? ''), id: user.id, role: user.role }
    }
    const told = async (api: ApiClient) =>
      (await api.listMessages()).items.flatMap(({ about, detail }) =>
        about === 'own_dotfiles_by_keypair' ? [detail] : [],
      )
    const first = await enter()
    const keypair = await first.api.createKeypair({ body: {} })
    const params = { accessKey: keypair.accessKey }
    await signedApi(world.manager.url, keypair).putDotfile({ body: { path: '.bashrc', content: 'x' } })
    const all = [`${keypair.accessKey}: .bashrc`]
    expect(await told(first.api)).toEqual(all)

    const raised = await enter('heads')
    all.push(...all.slice(0, 1))
    expect([raised.role, await told(raised.api)]).toEqual(['domain_admin', all])
    await raised.api.updateKeypair({ params, body: { active: true } })
    await world.configure({ groupsClaim: 'groups', mapping: [] })
    const lowered = await enter()
    all.push(...all.slice(0, 1))
    expect([lowered.role, await told(lowered.api)]).toEqual(['user', all])
    await lowered.api.updateKeypair({ params, body: { active: true } })
    await world.admin.updateUser({ params: { id: first.id }, body: { role: 'domain_admin' } })
    all.push(...all.slice(0, 1))
    expect(await told((await enter()).api)).toEqual(all)

    // An account that was made by hand, with a keypair from before the doubt about its password.
    const linked = newPerson()
    const { api, id } = await world.manager.addUser(linked.email)
    await api.changePassword({ body: { oldPassword: PASSWORD, newPassword: 'Chosen-by-person-3' } })
    const before = await api.createKeypair({ body: {} })
    await signedApi(world.manager.url, before).putDotfile({ body: { path: '.zshrc', content: 'x' } })
    await world.admin.updateUser({ params: { id }, body: { password: 'Known-to-an-admin-1' } })
    await world.configure({ linkByEmail: true, emailDomains: ['example.org'] })
    const { token } = await world.signIn(linked)
    const own = `${before.accessKey}: .zshrc`
    expect(await told(world.manager.api(token ?? ''))).toEqual([own, own])
  })

  test('make people administrators of the domain of the provider only, wherever their account is', async () => {
    for (const name of ['blue', 'green']) await world.admin.createDomain({ body: { name } })
    const heads = [{ group: 'heads', projects: [], role: 'domain_admin' as const }]
    await world.configure({ groupsClaim: 'groups', mapping: heads })
    const person = { ...newPerson(), groups: ['heads'] }
    const { user } = await world.signIn(person)
    expect(user).toMatchObject({ domain: 'default', role: 'domain_admin' })
    await world.admin.updateUser({ params: { id: user.id }, body: { domain: 'blue', role: 'user' } })
    expect((await world.signIn(person)).user).toMatchObject({ domain: 'blue', role: 'user' })
    const { items } = await world.admin.listAuditLog({ query: { actor: person.email } })
    expect(items.find(({ action }) => action === 'finishSso')?.detail).toMatchObject({
      mappingSkipped: 'for the domain default',
    })
    // A role that the mapping gave in one domain does not apply in the next one.
    await world.admin.updateUser({ params: { id: user.id }, body: { domain: 'default' } })
    expect((await world.signIn(person)).user.role).toBe('domain_admin')
    await world.admin.updateUser({ params: { id: user.id }, body: { domain: 'green' } })
    expect((await world.signIn(person)).user).toMatchObject({ domain: 'green', role: 'user' })
    // A role that an administrator gave there stays.
    await world.admin.updateUser({ params: { id: user.id }, body: { role: 'domain_admin' } })
    expect((await world.signIn(person)).user).toMatchObject({ domain: 'green', role: 'domain_admin' })
  })

  test('make nobody a superadmin unless the mapping says so, and leave the role that an admin has set', async () => {
    const person = newPerson()
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'root', projects: [], role: 'superadmin' }] })
    const { user } = await world.signIn({ ...person, groups: ['superadmin', 'admins'] })
    expect(user.role).toBe('user')
    await world.admin.updateUser({ params: { id: user.id }, body: { role: 'domain_admin' } })
    expect((await world.signIn({ ...person, groups: [] })).user.role).toBe('domain_admin')
    expect((await world.signIn({ ...person, groups: ['root'] })).user.role).toBe('superadmin')
    expect((await world.signIn({ ...person, groups: [] })).user.role).toBe('domain_admin')
  })
})

describe('what groups gave is taken back', () => {
  const mapping = [
    { group: 'team', projects: ['secret', 'shared'], role: null },
    { group: 'heads', projects: [], role: 'domain_admin' as const },
  ]
  const idOf = async (project: string) =>
    (await world.admin.listGroups()).items.find(({ name, domain }) => name === project && domain === 'default')?.id ??
    ''
  const userOf = (id: string) => world.admin.getUser({ params: { id } })

  beforeAll(async () => {
    for (const name of ['secret', 'shared']) await world.admin.createGroup({ body: { name } })
    await world.admin.createDomain({ body: { name: 'red' } })
    await world.admin.createGroup({ body: { name: 'secret', domain: 'red' } })
  })
  beforeEach(() => world.configure({ groupsClaim: 'groups', mapping }))

  const OWN = 'Chosen-by-person-3'
  /** Somebody with a password of their own, whose linked account at the provider is in these groups. */
  async function member(groups: readonly string[], domain = 'default') {
    const person = newPerson({ groups: [...groups] })
    const { api, id } = await world.manager.addUser(person.email, 'user', domain)
    await api.changePassword({ body: { oldPassword: PASSWORD, newPassword: OWN } })
    await world.link(api, person, OWN)
    const { user } = await world.signIn(person)
    return { person, api, id, user, unlink: () => unlink(person) }
  }

  async function unlink({ email, sub }: ProviderPerson & { email: string }): Promise<void> {
    const { api } = await world.manager.signIn({ email, password: OWN })
    await api.unlinkIdentity({ body: { issuer: world.provider.issuer, subject: sub, password: OWN } })
  }

  test('when its person unlinks the account at the provider, but for what an administrator gave by hand as well', async () => {
    const { id, user, person, unlink } = await member(['team', 'heads'])
    expect(names(user)).toEqual(['default', 'secret', 'shared'])
    await world.admin.addGroupMember({ params: { id: await idOf('shared'), userId: id } })
    await unlink()
    const after = await userOf(id)
    expect(after).toMatchObject({ role: 'user' })
    expect(names(after)).toEqual(['default', 'shared'])
    const { api } = await world.manager.signIn({ email: person.email, password: OWN })
    const { items } = await api.listMessages()
    expect(items.find(({ about }) => about === 'own_mapping_ended')?.detail).toBe('domain_admin, secret')
    const told = (await world.admin.listAuditLog({ query: { actor: person.email } })).items
    expect(told.find(({ action }) => action === 'unlinkIdentity')?.detail).toMatchObject({
      projectsRemoved: 'secret',
      roleBefore: 'domain_admin',
      role: 'user',
    })
    // Linking and unlinking again has not made anything the account's own.
    await world.link(api, person, OWN)
    expect((await world.signIn(person)).user.role).toBe('domain_admin')
    await unlink()
    const again = await userOf(id)
    expect({ role: again.role, groups: names(again) }).toEqual({ role: 'user', groups: ['default', 'shared'] })
  })

  test('when a group is lost, but for what an administrator has named in a list of projects', async () => {
    const { id, user, person } = await member(['team'])
    expect(names(user)).toEqual(['default', 'secret', 'shared'])
    await world.admin.updateUser({ params: { id }, body: { name: 'Ada' } })
    await world.admin.updateUser({ params: { id }, body: { groups: ['default', 'secret'] } })
    expect(names((await world.signIn(person)).user)).toEqual(['default', 'secret', 'shared'])
    expect(names((await world.signIn({ ...person, groups: [] })).user)).toEqual(['default', 'secret'])
  })

  test('when an administrator unlinks it, but for a role that one gave by hand as well', async () => {
    const [first, second] = [await member(['team', 'heads']), await member(['heads'])]
    await world.admin.updateUser({ params: { id: second.id }, body: { role: 'domain_admin' } })
    for (const { id } of [first, second]) await world.admin.removeUserIdentities({ params: { id } })
    const after = await userOf(first.id)
    expect({ role: after.role, groups: names(after) }).toEqual({ role: 'user', groups: ['default'] })
    expect((await userOf(second.id)).role).toBe('domain_admin')
  })

  test('when the doubt ends in which somebody else linked it', async () => {
    const lead = await world.manager.addUser('lead-of-doubt@example.org', 'domain_admin')
    const email = 'in-doubt@example.org'
    const { id } = await lead.api.createUser({ body: { email, name: 'Ada', password: 'Known-to-the-lead-1' } })
    const login = { email, password: 'Known-to-the-lead-1', newPassword: PASSWORD, kind: 'token' } as const
    const inside = world.manager.api((await world.manager.api().login({ body: login })).token ?? '')
    const leads = newPerson({ groups: ['team'] })
    await world.link(inside, leads, PASSWORD)
    await world.signIn(leads)
    expect(names(await userOf(id))).toEqual(['default', 'secret', 'shared'])
    const { url } = await world.admin.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
    await world.manager.api().resetPassword({ body: { token: tokenOf(url), password: 'Chosen-by-person-3' } })
    expect(names(await userOf(id))).toEqual(['default'])
  })

  test('when the mapping, its domain or the provider goes, without a sign-in there', async () => {
    const { id } = await member(['team', 'heads'])
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'team', projects: ['shared'], role: null }] })
    const less = await userOf(id)
    expect({ role: less.role, groups: names(less) }).toEqual({ role: 'user', groups: ['default', 'shared'] })
    await world.configure({ groupsClaim: 'groups', mapping, domain: 'red' })
    expect(names(await userOf(id))).toEqual(['default'])
    await world.configure({ groupsClaim: 'groups', mapping, domain: 'default' })
    const { id: other } = await member(['team', 'heads'])
    await world.admin.deleteSignInProvider({ params: { id: PROVIDER } })
    const { issuer, clientId, clientSecret } = world.provider
    await world.admin.createSignInProvider({ body: { id: PROVIDER, name: 'The lab', issuer, clientId, clientSecret } })
    const after = await userOf(other)
    expect({ role: after.role, groups: names(after) }).toEqual({ role: 'user', groups: ['default'] })
  })

  test('when the account is moved: an administrator of one domain is none of the next, also before the next sign-in', async () => {
    const { id } = await member(['heads'])
    await world.admin.updateUser({ params: { id }, body: { domain: 'red' } })
    expect(await userOf(id)).toMatchObject({ domain: 'red', role: 'user' })
  })

  test('when nobody signs in at the provider for as long as the settings say, and comes again with a sign-in', async () => {
    const { id, person } = await member(['team', 'heads'])
    await using store = await openToRead({ ...world.manager.source, log: silentLog })
    const young = await member(['team'])
    const bare = await member(['team'])
    for (const name of ['secret', 'shared'])
      await world.admin.removeGroupMember({ params: { id: await idOf(name), userId: bare.id } })
    await sql`update sign_in_identities set last_used_at = now() - interval '31 days'
      where user_id in (${id}, ${bare.id})`.execute(store.db)
    const noted = async () => {
      const { rows } =
        await sql`select from sign_in_identities where given_groups <> '[]' and user_id = ${bare.id}`.execute(store.db)
      return rows.length
    }
    const changed: string[] = []
    {
      const settings = { read: () => world.admin.getSettings() }
      const notifier = { write: () => Promise.resolve(), announce: () => Promise.resolve() }
      const onTaken = ({ user }: TakenBack) => Promise.resolve(void changed.push(user.id))
      await using _ = startWithdrawals({ store, settings, notifier, onTaken, log: silentLog, everyMs: 50 })
      await expect.poll(async () => names(await userOf(id))).toEqual(['default'])
      await expect.poll(noted).toBe(0)
    }
    // Accounts without rights to lose were not changed.
    expect(changed).toEqual([id])
    expect((await userOf(id)).role).toBe('user')
    expect(names(await userOf(young.id))).toContain('secret')
    expect((await world.signIn(person)).user.role).toBe('domain_admin')
  })

  test('and is given in the domain of the provider only: a project of the same name elsewhere is another one', async () => {
    const { user, id } = await member(['team', 'heads'], 'red')
    expect({ domain: user.domain, role: user.role, groups: names(user) }).toEqual({
      domain: 'red',
      role: 'user',
      groups: ['default'],
    })
    // A role given by hand stays at each sign-in.
    await world.admin.updateUser({ params: { id }, body: { groups: ['default', 'secret'] } })
    expect(names(await userOf(id))).toEqual(['default', 'secret'])
  })
})

test.each<[string, () => Promise<unknown>]>([
  ['changed', () => world.configure()],
  ['deleted', () => world.admin.deleteSignInProvider({ params: { id: 'unknown' } })],
])(
  'a provider that is %s waits for changes of superadmins before it keeps those of the settings waiting',
  async (_how, act) => {
    await using store = await openToRead({ ...world.manager.source, log: silentLog })
    const count = async (query: RawBuilder<{ count: number }>) => (await query.execute(store.db)).rows[0]?.count ?? 0
    const { free, outcome } = await store.transaction(async trx => {
      await lockSuperadmins(trx)
      const outcome = codeOf(act())
      const waiting = sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
      where wait_event = 'advisory' and datname = current_database()`
      await expect.poll(() => count(waiting)).toBe(1)
      const { rows } = await sql<{ free: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended('berth:sign-in-providers', 0)) as free`.execute(trx)
      return { free: rows[0]?.free, outcome }
    })
    expect(free).toBe(true)
    await outcome
  },
)
