import { sql } from 'kysely'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient, type SignInProviderSettings } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { apiOf } from '../../fixtures/manager.ts'
import { browseProvider, type ProviderPerson, startTestProvider } from '../../fixtures/oidc-provider.ts'
import { codeOf, PASSWORD, tokenOf } from './account-steps.ts'
import { codeOfAddress, newPerson, PROVIDER, type SsoWorld, startSsoWorld } from './sso-steps.ts'

/** Accounts at a provider of OpenID Connect that people link and unlink themselves, or that somebody else linked for them. */
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

describe('own accounts at a provider', () => {
  const newUser = async (name: string) => {
    const email = `${name}@example.org`
    const { api } = await world.manager.addUser(email)
    return { email, api }
  }
  /** Gives the account a password that only its person knows. */
  async function chooseOwnPassword(api: ApiClient): Promise<void> {
    for (const [oldPassword, newPassword] of [
      [PASSWORD, 'Chosen-by-person-2'],
      ['Chosen-by-person-2', PASSWORD],
    ] as const) {
      await api.changePassword({ body: { oldPassword, newPassword } })
    }
  }
  /** Completes a visit to a provider like one browser, up to the code. */
  async function visit(api: ApiClient, person: ProviderPerson, more: { totp?: string } = {}) {
    world.provider.person = person
    const { url, secret } = await api.startLinking({ body: { provider: PROVIDER, password: PASSWORD, ...more } })
    const location = await world.comeBack(await browseProvider(url, world.provider.issuer))
    expect(location).toMatch(/^\/#\/account\?sso=berth_/)
    return { secret, code: codeOfAddress(location) }
  }

  test('are linked with the password, sign in from then on, and are unlinked', async () => {
    const { api, email } = await newUser('linker')
    const person = newPerson()
    const start = (password: string) => codeOf(api.startLinking({ body: { provider: PROVIDER, password } }))
    expect(await start('wrong')).toBe('login_failed')
    expect((await api.listOwnIdentities()).items).toEqual([])
    const linked = await api.finishLinking({ body: await visit(api, person) })
    const { issuer } = world.provider
    expect(linked).toMatchObject({ issuer, subject: person.sub, email: person.email, provider: 'The lab' })
    const news = (await api.listMessages()).items.map(({ about, detail }) => `${about ?? ''} ${detail}`)
    expect(news).toEqual([`own_identity_linked The lab: ${person.email}`, 'account_made_password '])
    expect((await world.signIn(person)).user.email).toBe(email)
    expect((await api.listOwnIdentities()).items).toMatchObject([{ subject: person.sub }])
    const unlink = (password: string) => codeOf(api.unlinkIdentity({ body: { issuer, subject: person.sub, password } }))
    expect(await unlink('wrong')).toBe('login_failed')
    expect(await unlink(PASSWORD)).toBe('ok')
    expect(await unlink(PASSWORD)).toBe('identity_not_found')
    await world.configure({ createAccounts: false })
    expect(await codeOf(world.signIn(person))).toBe('sso_no_account')
  })

  test('raise nobody as long as somebody else may have linked them: the doubt would end, and that somebody stay', async () => {
    const lead = { email: 'lead@example.org', name: 'Lead' }
    const ann = { email: 'ann@example.org', name: 'Ann' }
    const body = { ...lead, password: PASSWORD, mustChangePassword: false, role: 'domain_admin' } as const
    await world.admin.createUser({ body })
    const asLead = await world.manager.signIn({ email: body.email, password: PASSWORD })
    const { id } = await asLead.api.createUser({ body: { ...ann, password: 'Known-to-the-lead-1' } })
    const signIn = async (password: string, newPassword?: string) => {
      const { token } = await world.manager
        .api()
        .login({ body: { email: ann.email, password, newPassword, kind: 'token' } })
      return world.manager.api(token ?? '')
    }
    const leads = newPerson()
    const inside = await signIn('Known-to-the-lead-1', PASSWORD)
    await inside.finishLinking({ body: await visit(inside, leads) })
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'heads', projects: [], role: 'domain_admin' }] })
    const { user, token } = await world.signIn({ ...leads, groups: ['heads'] })
    expect(user).toMatchObject({ id, role: 'user' })
    const { accessKey } = await world.manager.api(token ?? '').createKeypair({ body: {} })
    const { url } = await world.admin.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
    await world.manager.api().resetPassword({ body: { token: tokenOf(url), password: 'Chosen-by-person-3' } })
    const linkUsed = await signIn('Chosen-by-person-3')
    await linkUsed.changePassword({ body: { oldPassword: 'Chosen-by-person-3', newPassword: 'Chosen-by-person-4' } })
    const own = await signIn('Chosen-by-person-4')
    expect((await own.listKeypairs({ query: {} })).items).toMatchObject([{ accessKey, active: false }])
    expect((await own.listOwnIdentities()).items).toEqual([])
    // Linked by the person alone, the same account gives the role.
    await world.configure({ groupsClaim: null, mapping: [] })
    await world.link(own, leads, 'Chosen-by-person-4')
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'heads', projects: [], role: 'domain_admin' }] })
    expect((await world.signIn({ ...leads, groups: ['heads'] })).user).toMatchObject({ id, role: 'domain_admin' })
  })

  test('are unlinked when the person chooses a password, if somebody else may have linked them', async () => {
    const email = 'chooses@example.org'
    await world.admin.createUser({ body: { email, name: 'Bo', password: PASSWORD, mustChangePassword: false } })
    const { api } = await world.manager.signIn({ email, password: PASSWORD })
    const helper = newPerson()
    await api.finishLinking({ body: await visit(api, helper) })
    await api.changePassword({ body: { oldPassword: PASSWORD, newPassword: 'Chosen-by-person-4' } })
    expect((await api.listOwnIdentities()).items).toEqual([])
    expect((await api.listMessages()).items.map(({ about }) => about)).toContain('left_identities')
    await world.configure({ createAccounts: false })
    expect(await codeOf(world.signIn(helper))).toBe('sso_no_account')
  })

  test('a password that somebody else may know ends when a group raises the account, and another one can be set', async () => {
    const { api, email } = await newUser('raised')
    const person = newPerson()
    await chooseOwnPassword(api)
    await api.finishLinking({ body: await visit(api, person) })
    const { id } = (await api.me()).user
    await world.admin.updateUser({ params: { id }, body: { password: 'Known-to-an-admin-1' } })
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'heads', projects: [], role: 'domain_admin' }] })
    expect((await world.signIn({ ...person, groups: ['heads'] })).user.role).toBe('domain_admin')
    const signIn = (password: string) => codeOf(world.manager.api().login({ body: { email, password, kind: 'token' } }))
    expect(await signIn('Known-to-an-admin-1')).toBe('login_failed')
    const { url } = await world.admin.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
    await world.manager.api().resetPassword({ body: { token: tokenOf(url), password: 'Chosen-by-person-3' } })
    expect(await signIn('Chosen-by-person-3')).toBe('ok')
  })

  test('end a password that an administrator set for an account of theirs, with the next sign-in of its person', async () => {
    const lead = await world.manager.addUser('lead-of-known@example.org', 'domain_admin')
    const person = newPerson()
    const { user, token } = await world.signIn(person)
    const params = { id: user.id }
    const signIn = (password: string, newPassword?: string) =>
      world.manager.api().login({ body: { email: user.email, password, newPassword, kind: 'token' } })
    const before = world.manager.api(token ?? '')
    const { url } = await lead.api.createAccountLink({ params, body: { purpose: 'reset' } })
    await world.manager.api().resetPassword({ body: { token: tokenOf(url), password: 'Known-to-the-lead-1' } })
    const inside = world.manager.api((await signIn('Known-to-the-lead-1')).token ?? '')
    const again = await lead.api.createAccountLink({ params, body: { purpose: 'reset' } })
    expect(await codeOf(before.me())).toBe('not_signed_in')

    const next = await world.signIn(person)
    expect(next.user).toMatchObject({ id: user.id, passwordFrom: 'nobody' })
    expect(await codeOf(signIn('Known-to-the-lead-1'))).toBe('login_failed')
    expect(await codeOf(inside.me())).toBe('not_signed_in')
    const reset = { token: tokenOf(again.url), password: 'Known-to-the-lead-2' }
    expect(await codeOf(world.manager.api().resetPassword({ body: reset }))).toBe('link_invalid')
    const own = world.manager.api(next.token ?? '')
    expect((await own.listMessages()).items.map(({ about }) => about)).toContain('own_password_ended')
    expect((await world.signIn(person)).user.id).toBe(user.id)
    expect(await codeOf(own.me())).toBe('ok')
  })

  test('linked while somebody else may have known the password, end no doubt about it', async () => {
    const email = 'helped@example.org'
    const { api: lead } = await world.manager.addUser('lead-of-helped@example.org', 'domain_admin')
    const { id } = await lead.createUser({ body: { email, name: 'Bo', password: PASSWORD } })
    const chosen = { email, password: PASSWORD, newPassword: 'Known-to-helper-2', kind: 'token' } as const
    const inside = world.manager.api((await world.manager.api().login({ body: chosen })).token ?? '')
    const helper = newPerson()
    await world.link(inside, helper, 'Known-to-helper-2')
    expect((await world.signIn(helper)).user).toMatchObject({ id, passwordFrom: 'unknown' })
  })

  /** A second provider with the same mapping, until the end. */
  async function startSecond(mapping: SignInProviderSettings['mapping']) {
    await using stack = new AsyncDisposableStack()
    const callback = `${world.manager.url}/api/v1/auth/sso/callback`
    const second = stack.use(await startTestProvider(() => callback))
    const { issuer, clientId, clientSecret } = second
    const body = { id: 'second', name: 'Second', issuer, clientId, clientSecret, groupsClaim: 'groups', mapping }
    await world.admin.createSignInProvider({ body })
    stack.defer(() => world.admin.deleteSignInProvider({ params: { id: 'second' } }))
    const opened = stack.move()
    const codeFrom = async (url: string) => codeOfAddress(await world.comeBack(await browseProvider(url, issuer)))
    return {
      /** An admin of the domain sets a password of the account, and somebody who knows it links this account at the provider. */
      async linkUnnoticed({ id, email }: { id: string; email: string }, person: ProviderPerson): Promise<void> {
        const lead = await world.manager.addUser(`lead-of-${email}`, 'domain_admin')
        await lead.api.updateUser({ params: { id }, body: { password: 'Known-to-the-lead-1' } })
        const login = { email, password: 'Known-to-the-lead-1', newPassword: PASSWORD, kind: 'token' } as const
        const inside = world.manager.api((await world.manager.api().login({ body: login })).token ?? '')
        second.person = person
        const { url, secret } = await inside.startLinking({ body: { provider: 'second', password: PASSWORD } })
        await inside.finishLinking({ body: { secret, code: await codeFrom(url) } })
      },
      async signIn(person: ProviderPerson) {
        second.person = person
        const { url, secret } = await world.manager.api().startSso({ body: { provider: 'second' } })
        return world.finish(secret, await codeFrom(url))
      },
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    }
  }

  test('that somebody else may have linked end when a group raises the account, and the person is told', async () => {
    await world.admin.createGroup({ body: { name: 'theirs' } })
    await using second = await startSecond([{ group: 'theirs', projects: ['theirs'], role: null }])
    const { api, email } = await newUser('two-ways')
    const person = newPerson()
    await chooseOwnPassword(api)
    await api.finishLinking({ body: await visit(api, person) })
    const { id } = (await api.me()).user
    const planted = newPerson({ groups: ['theirs'] })
    await second.linkUnnoticed({ id, email }, planted)
    expect((await second.signIn(planted)).user.groups.map(({ name }) => name)).toEqual(['default', 'theirs'])

    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'heads', projects: [], role: 'domain_admin' }] })
    const raised = await world.signIn({ ...person, groups: ['heads'] })
    expect(raised.user).toMatchObject({ id, role: 'domain_admin' })
    const own = world.manager.api(raised.token ?? '')
    expect((await own.listOwnIdentities()).items).toMatchObject([{ subject: person.sub }])
    const { items } = await own.listMessages()
    expect(items.map(({ about }) => about)).toContain('left_identities')
    // The project from the mapping was taken back, but not the role that was just given.
    expect(items.filter(({ about }) => about === 'own_mapping_ended').map(({ detail }) => detail)).toEqual(['theirs'])
    expect((await own.me()).user.groups.map(({ name }) => name)).toEqual(['default'])
  })

  test('that somebody else may have linked keep no role that another one gave', async () => {
    const mapping = [{ group: 'heads', projects: [], role: 'domain_admin' as const }]
    await using second = await startSecond(mapping)
    await world.configure({ groupsClaim: 'groups', mapping })
    const { api, email } = await newUser('keeps-nothing')
    const person = newPerson({ groups: ['heads'] })
    await chooseOwnPassword(api)
    await api.finishLinking({ body: await visit(api, person) })
    const { user } = await world.signIn(person)
    expect(user.role).toBe('domain_admin')
    const planted = newPerson({ groups: ['heads'] })
    await second.linkUnnoticed({ id: user.id, email }, planted)
    expect((await second.signIn(planted)).user).toMatchObject({ id: user.id, role: 'domain_admin' })
    const { items } = await world.admin.listAuditLog({ query: { actor: email } })
    expect(items.find(({ action }) => action === 'finishSso')?.detail).toMatchObject({
      roleKept: 'linked while somebody else might know the password',
    })
    await world.configure({ groupsClaim: 'groups', mapping: [] })
    expect((await world.admin.getUser({ params: { id: user.id } })).role).toBe('user')
  })

  test('that somebody else may have linked give no role either where an older version noted one for both', async () => {
    const mapping = [{ group: 'heads', projects: [], role: 'domain_admin' as const }]
    await using second = await startSecond(mapping)
    await using store = await openToRead({ ...world.manager.source, log: silentLog })
    await world.configure({ groupsClaim: 'groups', mapping })
    const { api, email } = await newUser('noted-twice')
    const person = newPerson({ groups: ['heads'] })
    await chooseOwnPassword(api)
    await api.finishLinking({ body: await visit(api, person) })
    const { user } = await world.signIn(person)
    const planted = newPerson({ groups: ['heads'] })
    await second.linkUnnoticed({ id: user.id, email }, planted)
    await sql`update sign_in_identities set given_role = 'domain_admin', role_before = 'user', given_by = 'second'
      where subject = ${planted.sub}`.execute(store.db)
    const roleNow = async () => (await world.admin.getUser({ params: { id: user.id } })).role
    expect(await roleNow()).toBe('domain_admin')
    await world.configure({ groupsClaim: 'groups', mapping: [] })
    expect(await roleNow()).toBe('user')
    // After a change of the mapping, the rights from linked accounts are checked again.
    await world.admin.updateSignInProvider({
      params: { id: 'second' },
      body: { mapping: [...mapping, { group: 'others', projects: [], role: null }] },
    })
    expect(await roleNow()).toBe('user')
  })

  test('are of one person: neither what somebody else linked, nor a second one of the provider', async () => {
    const [first, second] = [await newUser('one'), await newUser('two')]
    const person = newPerson()
    await first.api.finishLinking({ body: await visit(first.api, person) })
    expect(await codeOf(second.api.finishLinking({ body: await visit(second.api, person) }))).toBe('identity_taken')
    expect(await codeOf(first.api.finishLinking({ body: await visit(first.api, newPerson()) }))).toBe('identity_taken')
    const { issuer } = world.provider
    const foreign = { issuer, subject: person.sub, password: PASSWORD }
    expect(await codeOf(second.api.unlinkIdentity({ body: foreign }))).toBe('identity_not_found')
  })

  test('a visit is bound to the account and the purpose that began it', async () => {
    const [victim, attacker] = [await newUser('victim'), await newUser('attacker')]
    const visited = await visit(attacker.api, newPerson())
    expect(await codeOf(victim.api.finishLinking({ body: visited }))).toBe('sso_expired')
    expect(await codeOf(world.finish(visited.secret, visited.code))).toBe('sso_expired')
    world.provider.person = newPerson()
    const { url, secret } = await world.start()
    const code = codeOfAddress(await world.comeBack(await browseProvider(url, world.provider.issuer)))
    expect(await codeOf(victim.api.finishLinking({ body: { secret, code } }))).toBe('sso_expired')
    expect(await codeOf(attacker.api.finishLinking({ body: visited }))).toBe('ok')
    expect(await codeOf(attacker.api.finishLinking({ body: visited }))).toBe('sso_expired')
  })

  test('ask for the second factor too, and keep to the mail domains of the provider', async () => {
    const { api } = await newUser('careful')
    const { secret } = await api.enrolTotp({ body: { password: PASSWORD } })
    const totp = new TOTP({ secret: Secret.fromBase32(secret) })
    await api.confirmTotp({ body: { code: totp.generate() } })
    const body = { provider: PROVIDER, password: PASSWORD }
    expect(await codeOf(api.startLinking({ body }))).toBe('totp_required')
    expect(await codeOf(api.startLinking({ body: { ...body, totp: '000000' } }))).toBe('totp_invalid')
    const later = totp.generate({ timestamp: Date.now() + 30_000 })
    await world.configure({ emailDomains: ['elsewhere.example'] })
    expect(await codeOf(api.finishLinking({ body: await visit(api, newPerson(), { totp: later }) }))).toBe(
      'sso_email_domain',
    )
  })

  test.each(['a higher role', 'a new password by a link'])(
    'are unlinked by %s where somebody else may have linked them',
    async how => {
      const { api: lead } = await world.manager.addUser(`lead-${how.length}@example.org`, 'domain_admin')
      const [email, other] = [`made-${how.length}@example.org`, newPerson()]
      const { id } = await lead.createUser({ body: { email, name: 'Made', password: 'Of-the-lead-1234' } })
      const body = { email, password: 'Of-the-lead-1234', newPassword: PASSWORD, kind: 'token' } as const
      const { token } = await world.manager.api().login({ body })
      const inside = apiOf(world.manager.url, token ?? '')
      await inside.finishLinking({ body: await visit(inside, other) })
      if (how === 'a higher role') {
        await world.admin.updateUser({ params: { id }, body: { role: 'superadmin' } })
      } else {
        const { url } = await world.admin.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
        await world.manager.api().resetPassword({ body: { token: tokenOf(url), password: 'Own-again-12345' } })
      }
      await world.configure({ createAccounts: false })
      expect(await codeOf(world.signIn(other))).toBe('sso_no_account')
      await world.configure()
    },
  )

  test('the last one stays while people sign in without passwords', async () => {
    const { api } = await newUser('passwordless')
    const person = newPerson()
    await api.finishLinking({ body: await visit(api, person) })
    const body = { issuer: world.provider.issuer, subject: person.sub, password: PASSWORD }
    await world.admin.updateSettings({ body: { passwordSignIn: 'superadmins' } })
    try {
      expect(await codeOf(api.unlinkIdentity({ body }))).toBe('identity_needed')
    } finally {
      await world.admin.updateSettings({ body: { passwordSignIn: 'everyone' } })
    }
    expect(await codeOf(api.unlinkIdentity({ body }))).toBe('ok')
  })

  test('the last one stays also where it alone makes its person a superadmin: without it, no password would be left', async () => {
    const { api, email } = await newUser('raised-to-superadmin')
    const person = newPerson({ groups: ['root'] })
    await chooseOwnPassword(api)
    await api.finishLinking({ body: await visit(api, person) })
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'root', projects: [], role: 'superadmin' }] })
    expect((await world.signIn(person)).user.role).toBe('superadmin')
    const raised = await world.manager.signIn({ email, password: PASSWORD })
    const body = { issuer: world.provider.issuer, subject: person.sub, password: PASSWORD }
    await world.admin.updateSettings({ body: { passwordSignIn: 'superadmins' } })
    try {
      expect(await codeOf(raised.api.unlinkIdentity({ body }))).toBe('identity_needed')
      expect((await raised.api.me()).user.role).toBe('superadmin')
    } finally {
      await world.admin.updateSettings({ body: { passwordSignIn: 'everyone' } })
    }
    expect(await codeOf(raised.api.unlinkIdentity({ body }))).toBe('ok')
    const after = await world.manager.signIn({ email, password: PASSWORD })
    expect((await after.api.me()).user.role).toBe('user')
  })
})
