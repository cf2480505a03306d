import { type IncomingMessage, type ServerResponse } from 'node:http'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient } from '#manager/contract'
import { apiOf, signedApi } from '../../fixtures/manager.ts'
import { browseProvider, type ProviderPerson, startTestProvider } from '../../fixtures/oidc-provider.ts'
import { codeOf, PASSWORD, tokenOf } from './account-steps.ts'
import { codeOfAddress, newPerson, PROVIDER, type SsoWorld, startSsoWorld } from './sso-steps.ts'

/** Sign-ins at a provider of OpenID Connect: whose account it is, what groups give, and what an admin sets. */
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

const params = { id: PROVIDER }

/** News that Berth told a person about the account. */
async function signedInNews({ email }: { readonly email: string }, password = PASSWORD): Promise<string[]> {
  const { api } = await world.manager.signIn({ email, password })
  return (await api.listMessages()).items.map(({ about, detail }) => `${about ?? ''} ${detail}`)
}

describe('a sign-in at a provider', () => {
  test('makes an account at the first time, and finds it again', async () => {
    const person = newPerson()
    const { user, token, originSecret } = await world.signIn(person)
    expect(user).toMatchObject({
      email: person.email,
      name: person.name,
      role: 'user',
      domain: 'default',
      emailVerified: true,
    })
    expect(originSecret).toBeNull()
    expect((await world.manager.api(token ?? '').me()).user.id).toBe(user.id)
    expect((await world.signIn(person)).user.id).toBe(user.id)
    const { items } = await world.admin.listUserIdentities({ params: { id: user.id } })
    expect(items).toMatchObject([{ issuer: world.provider.issuer, subject: person.sub, email: person.email }])
    expect(await codeOf(world.manager.signIn({ email: person.email, password: PASSWORD }))).toBe('login_failed')
  })

  test('gives a browser both halves of a sign-in', async () => {
    world.provider.person = newPerson()
    const { url, secret } = await world.start()
    const code = codeOfAddress(await world.comeBack(await browseProvider(url, world.provider.issuer)))
    const reply = await fetch(`${world.manager.url}/api/v1/auth/sso/finish`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ secret, code }),
    })
    expect(reply.headers.get('set-cookie')).toMatch(/^berth_\d+=berth_.*HttpOnly; SameSite=Strict/)
    expect(await reply.json()).toMatchObject({ token: null, originSecret: expect.stringMatching(/^berth_/) as string })
  })

  test('uses the code flow with PKCE, state and nonce', async () => {
    const { url } = await world.start()
    const query = new URL(url).searchParams
    expect(Object.fromEntries(query)).toMatchObject({
      response_type: 'code',
      client_id: 'berth',
      code_challenge_method: 'S256',
      scope: 'openid email profile',
      redirect_uri: `${world.manager.url}/api/v1/auth/sso/callback`,
    })
    for (const name of ['state', 'nonce', 'code_challenge']) expect(query.get(name)?.length).toBeGreaterThan(40)
  })

  test('is offered on the sign-in page while it is active, and its secret is shown nowhere', async () => {
    const anybody = world.manager.api()
    expect((await anybody.authOptions()).providers).toEqual([{ id: PROVIDER, name: 'The lab' }])
    const listed = await world.admin.listSignInProviders()
    expect(JSON.stringify(listed)).not.toContain(world.provider.clientSecret)
    expect(listed.items).toMatchObject([{ id: PROVIDER, clientSecretSet: true }])
    expect(listed.callbackUrl).toBe(`${world.manager.url}/api/v1/auth/sso/callback`)
    await world.admin.updateSettings({ body: { publicUrl: 'https://berth.example.org' } })
    expect((await world.admin.listSignInProviders()).callbackUrl).toBe(
      'https://berth.example.org/api/v1/auth/sso/callback',
    )
    await world.configure({ active: false })
    expect((await anybody.authOptions()).providers).toEqual([])
    expect(await codeOf(world.start())).toBe('sign_in_provider_not_found')
  })
})

describe('whose account it is', () => {
  test('an address that is not verified, missing or of another domain is refused', async () => {
    expect(await codeOf(world.signIn(newPerson({ email_verified: false })))).toBe('sso_email_unverified')
    expect(await codeOf(world.signIn({ sub: 'without-address' }))).toBe('sso_email_missing')
    await world.configure({ trustEmail: true })
    expect(await codeOf(world.signIn(newPerson({ email_verified: false })))).toBe('ok')
    await world.configure({ emailDomains: ['lab.example.org'] })
    expect(await codeOf(world.signIn(newPerson()))).toBe('sso_email_domain')
    expect(await codeOf(world.signIn(newPerson({ email: 'someone@lab.example.org' })))).toBe('ok')
    expect(await codeOf(world.signIn(newPerson({ email: 'someone@evil-lab.example.org' })))).toBe('sso_email_domain')
  })

  test('a person who changes the address keeps the account, and reaches no other one with it', async () => {
    const person = newPerson()
    const other = newPerson()
    const { user } = await world.signIn(person)
    await world.signIn(other)
    const moved = await world.signIn({ ...person, email: other.email })
    expect(moved.user).toMatchObject({ id: user.id, email: person.email })
    expect((await world.signIn({ ...person, email_verified: false })).user.id).toBe(user.id)
  })

  test('another subject with the address of an account is refused', async () => {
    await world.configure({ linkByEmail: true, emailDomains: ['example.org'] })
    const person = newPerson()
    const { user } = await world.signIn(person)
    expect(await codeOf(world.signIn({ ...person, sub: 'given-to-somebody-else' }))).toBe('sso_account_taken')
    expect(await world.admin.removeUserIdentities({ params: { id: user.id } })).toEqual({ removed: 1 })
    expect((await world.signIn({ ...person, sub: 'given-to-somebody-else' })).user.id).toBe(user.id)
  })

  test('an account with a password is linked only if that is switched on, and never that of a superadmin', async () => {
    const person = newPerson()
    const { id, api } = await world.manager.addUser(person.email)
    const own = 'Chosen-by-person-3'
    await api.changePassword({ body: { oldPassword: PASSWORD, newPassword: own } })
    expect(await codeOf(world.signIn(person))).toBe('sso_account_taken')
    await expect(world.configure({ linkByEmail: true })).rejects.toThrow(/emailDomains/)
    await world.configure({ linkByEmail: true, emailDomains: ['example.org'] })
    expect((await world.signIn(person)).user.id).toBe(id)
    const linked = async () => (await signedInNews(person, own)).filter(one => one.startsWith('own_identity'))
    expect(await linked()).toEqual([`own_identity_linked The lab: ${person.email}`])
    // Told once, not with each sign-in.
    await world.signIn(person)
    expect(await linked()).toHaveLength(1)
    expect((await world.manager.signIn({ email: person.email, password: own })).token).toMatch(/^berth_/)
    const top = newPerson()
    await world.manager.addUser(top.email, 'superadmin')
    expect(await codeOf(world.signIn(top))).toBe('sso_account_taken')
  })

  test.each(['domain_admin', 'superadmin'] as const)(
    'an account that a %s made and used ahead has nothing of theirs after its person came',
    async role => {
      await world.configure({ linkByEmail: true, emailDomains: ['example.org'] })
      const { api: lead } = await world.manager.addUser(`ahead-${role}@example.org`, role)
      const body = { password: 'Of-the-lead-1234', name: 'Ahead' }
      const entered = newPerson()
      await lead.createUser({ body: { ...body, email: entered.email, mustChangePassword: role === 'domain_admin' } })
      const newPassword = role === 'domain_admin' ? 'Of-the-lead-5678' : body.password
      const { email } = entered
      const replaced = role === 'domain_admin' ? { newPassword } : {}
      const login = { email, password: body.password, ...replaced, kind: 'token' } as const
      const { token } = await world.manager.api().login({ body: login })
      const inside = apiOf(world.manager.url, token ?? '')
      const keypair = await inside.createKeypair({ body: {} })
      await inside.setBootstrapScript({ body: { script: 'of the lead' } })
      const waiting = await lead.createUserKeypair({ params: { id: (await inside.me()).user.id }, body: {} })
      const came = await world.signIn(entered)
      expect(came.user).toMatchObject({ email, passwordFrom: 'nobody' })
      const person = world.manager.api(came.token ?? '')
      expect((await person.listMessages()).items.map(({ about }) => about)).toContain('left_script')
      expect((await person.listKeypairs({ query: {} })).items.map(one => one.accessKey)).not.toContain(
        waiting.accessKey,
      )
      expect(await codeOf(inside.me())).toBe('not_signed_in')
      expect(await codeOf(world.manager.signIn({ email, password: newPassword }))).toBe('login_failed')
      expect(await codeOf(signedApi(world.manager.url, keypair).me())).toBe('keypair_inactive')
      // A link that the admin still has in hand.
      const linked = newPerson()
      const { items } = await lead.importUsers({ body: { rows: [{ email: linked.email }] } })
      await world.signIn(linked)
      const link = /token=([\w-]+)/.exec(items[0]?.link?.url ?? '')?.[1] ?? ''
      expect(await codeOf(world.manager.api().resetPassword({ body: { token: link, password: newPassword } }))).toBe(
        'link_invalid',
      )
    },
  )

  test('an account that a stranger made with the address loses the password of the stranger', async () => {
    await world.admin.updateSettings({ body: { allowSignUp: 'open', requireEmailVerification: true } })
    try {
      const person = newPerson()
      const body = { email: person.email, name: 'Stranger', password: PASSWORD }
      await world.manager.api().signUp({ body })
      await world.configure({ linkByEmail: true, emailDomains: ['example.org'] })
      await world.signIn(person)
      expect(await codeOf(world.manager.signIn({ email: person.email, password: PASSWORD }))).toBe('login_failed')
      await world.admin.updateSettings({ body: { requireEmailVerification: false } })
      const next = newPerson()
      await world.manager.api().signUp({ body: { ...body, email: next.email } })
      expect(await codeOf(world.signIn(next))).toBe('sso_account_taken')
    } finally {
      await world.admin.updateSettings({ body: { allowSignUp: 'off', requireEmailVerification: true } })
    }
  })

  test('nobody gets an account where none are made, and a deactivated one stays closed', async () => {
    await world.configure({ createAccounts: false })
    expect(await codeOf(world.signIn(newPerson()))).toBe('sso_no_account')
    await world.configure()
    const person = newPerson()
    const { user } = await world.signIn(person)
    await world.admin.updateUser({ params: { id: user.id }, body: { active: false } })
    expect(await codeOf(world.signIn(person))).toBe('user_inactive')
  })

  /** As `world.signIn`, by a program that listens on a port of the browser's computer. */
  async function signInAtPort(person: ProviderPerson) {
    world.provider.person = person
    const body = { provider: PROVIDER, return: { to: 'loopback', port: 4321 } } as const
    const { url, secret } = await world.manager.api().startSso({ body })
    const location = await world.comeBack(await browseProvider(url, world.provider.issuer))
    return world.finish(secret, new URLSearchParams(location.split('?')[1]).get('code') ?? '')
  }

  test('the second factor of Berth is asked for, unless the provider is trusted with it and reports several factors', async () => {
    const person = newPerson()
    await world.configure({ linkByEmail: true, emailDomains: ['example.org'] })
    const { api } = await world.manager.addUser(person.email)
    const { secret } = await api.enrolTotp({ body: { password: PASSWORD } })
    const codeFor = (steps: number) =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })
    await api.confirmTotp({ body: { code: codeFor(-1) } })
    expect(await codeOf(world.signIn(person))).toBe('totp_required')
    expect(await codeOf(world.signIn(person, { totp: '000000' }))).toBe('totp_invalid')
    expect(await codeOf(signInAtPort(person))).toBe('totp_required')
    expect(await codeOf(world.signIn(person, { totp: codeFor(0) }))).toBe('ok')
    expect(await codeOf(signInAtPort(person))).toBe('totp_required')
    const withFactors = { ...person, amr: ['pwd', 'mfa'] }
    expect(await codeOf(world.signIn(withFactors))).toBe('totp_required')
    await world.configure({ trustSecondFactor: true })
    expect(await codeOf(world.signIn(withFactors))).toBe('ok')
    expect(await codeOf(world.signIn({ ...person, amr: ['pwd'] }))).toBe('totp_required')
  })

  test('a provider that is trusted with the second factor does not pass it by linking an account', async () => {
    const person = newPerson()
    await world.configure({ linkByEmail: true, emailDomains: ['example.org'], trustSecondFactor: true })
    const { api } = await world.manager.addUser(person.email)
    const { secret } = await api.enrolTotp({ body: { password: PASSWORD } })
    const code = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() - 30_000 })
    await api.confirmTotp({ body: { code: code() } })
    expect(await codeOf(world.signIn({ ...person, amr: ['mfa'] }))).toBe('totp_required')
    expect((await api.listOwnIdentities()).items).toEqual([])
  })
})

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
    const names = (groups: readonly { name: string }[]) => groups.map(({ name }) => name)
    expect(names(user.groups)).toEqual(['course', 'default', 'research'])
    expect(user.role).toBe('domain_admin')
    const club = (await world.admin.listGroups()).items.find(({ name }) => name === 'club')?.id ?? ''
    await world.admin.addGroupMember({ params: { id: club, userId: user.id } })
    const down = await world.signIn({ ...person, groups: ['students'] })
    expect(names(down.user.groups)).toEqual(['club', 'course', 'default'])
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
      roleKept: 'mapped for the domain default',
    })
    // A role that the mapping gave in one domain is none of the next one.
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

describe('a provider that fails', () => {
  test('is reported with the next step: cancelled, down, down in the middle, wrong', async () => {
    expect(await codeOf(world.signIn(null))).toBe('sso_denied')
    const down = ({ url = '' }: IncomingMessage, response: ServerResponse) => {
      if (!url.startsWith('/token')) return false
      response.writeHead(503).end('down')
      return true
    }
    world.provider.person = newPerson()
    const { url, secret } = await world.start()
    const callback = await browseProvider(url, world.provider.issuer)
    world.provider.instead = down
    expect(await codeOf(world.finish(secret, codeOfAddress(await world.comeBack(callback))))).toBe(
      'sso_provider_unreachable',
    )
    world.provider.instead = () => false
    expect(await codeOf(world.signIn(newPerson()))).toBe('ok')
    await world.configure({ clientSecret: 'wrong' })
    expect(await codeOf(world.signIn(newPerson()))).toBe('sso_provider_wrong')
    await world.configure({ issuer: 'http://127.0.0.1:9' })
    expect(await codeOf(world.start())).toBe('sso_provider_unreachable')
    await world.configure({ issuer: `${world.provider.issuer}/realm` })
    expect(await codeOf(world.start())).toBe('sso_provider_wrong')
  })

  test('says what its discovery document says when it is tested', async () => {
    const { issuer } = world.provider
    const check = await world.admin.testSignInProvider({ params })
    expect(check).toMatchObject({
      issuer,
      authorizationEndpoint: `${issuer}/auth`,
      tokenEndpoint: `${issuer}/token`,
      pkce: true,
    })
    expect(Math.abs(check.clockDifferenceSeconds ?? 99)).toBeLessThan(30)
    await world.configure({ issuer: 'http://127.0.0.1:9' })
    expect(await codeOf(world.admin.testSignInProvider({ params }))).toBe('sso_provider_unreachable')
  })
})

describe('own accounts at a provider', () => {
  const newUser = async (name: string) => {
    const email = `${name}@example.org`
    const { api } = await world.manager.addUser(email)
    return { email, api }
  }
  /** Leaves the account with a password that only its person knows. */
  async function chooseOwnPassword(api: ApiClient): Promise<void> {
    for (const [oldPassword, newPassword] of [
      [PASSWORD, 'Chosen-by-person-2'],
      ['Chosen-by-person-2', PASSWORD],
    ] as const) {
      await api.changePassword({ body: { oldPassword, newPassword } })
    }
  }
  /** The visit of a provider as one browser, up to the code. */
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
    // Linked by the person alone, the same account raises.
    await world.configure({ groupsClaim: null, mapping: [] })
    world.provider.person = leads
    const { url: place, secret } = await own.startLinking({
      body: { provider: PROVIDER, password: 'Chosen-by-person-4' },
    })
    const code = codeOfAddress(await world.comeBack(await browseProvider(place, world.provider.issuer)))
    await own.finishLinking({ body: { secret, code } })
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
    world.provider.person = helper
    const place = await inside.startLinking({ body: { provider: PROVIDER, password: 'Known-to-helper-2' } })
    const code = codeOfAddress(await world.comeBack(await browseProvider(place.url, world.provider.issuer)))
    await inside.finishLinking({ body: { secret: place.secret, code } })
    expect((await world.signIn(helper)).user).toMatchObject({ id, passwordFrom: 'unknown' })
  })

  test('that somebody else may have linked end when a group raises the account, and the person is told', async () => {
    const callback = `${world.manager.url}/api/v1/auth/sso/callback`
    await using stack = new AsyncDisposableStack()
    const second = stack.use(await startTestProvider(() => callback))
    const { issuer, clientId, clientSecret } = second
    await world.admin.createSignInProvider({ body: { id: 'second', name: 'Second', issuer, clientId, clientSecret } })
    stack.defer(() => world.admin.deleteSignInProvider({ params: { id: 'second' } }))
    const { api, email } = await newUser('two-ways')
    const person = newPerson()
    await chooseOwnPassword(api)
    await api.finishLinking({ body: await visit(api, person) })
    const lead = await world.manager.addUser('lead-of-two@example.org', 'domain_admin')
    const { id } = (await api.me()).user
    await lead.api.updateUser({ params: { id }, body: { password: 'Known-to-the-lead-1' } })
    const login = { email, password: 'Known-to-the-lead-1', newPassword: PASSWORD, kind: 'token' } as const
    const inside = world.manager.api((await world.manager.api().login({ body: login })).token ?? '')
    second.person = newPerson()
    const { url, secret } = await inside.startLinking({ body: { provider: 'second', password: PASSWORD } })
    const code = codeOfAddress(await world.comeBack(await browseProvider(url, issuer)))
    await inside.finishLinking({ body: { secret, code } })

    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'heads', projects: [], role: 'domain_admin' }] })
    const raised = await world.signIn({ ...person, groups: ['heads'] })
    expect(raised.user).toMatchObject({ id, role: 'domain_admin' })
    const own = world.manager.api(raised.token ?? '')
    expect((await own.listOwnIdentities()).items).toMatchObject([{ subject: person.sub }])
    expect((await own.listMessages()).items.map(({ about }) => about)).toContain('left_identities')
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
        const link = /token=([\w-]+)/.exec(url ?? '')?.[1] ?? ''
        await world.manager.api().resetPassword({ body: { token: link, password: 'Own-again-12345' } })
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
})

describe('settings of providers', () => {
  test('a secret is not sent to another issuer, and plain http only to this computer', async () => {
    await world.admin.updateSignInProvider({ params, body: { issuer: 'https://another.example.org' } })
    expect((await world.admin.listSignInProviders()).items).toMatchObject([{ clientSecretSet: false }])
    const body = { issuer: 'http://id.example.org' }
    expect(await codeOf(world.admin.updateSignInProvider({ params, body }))).toBe('bad_request')
  })

  test('passwords are switched off only while a provider works, and superadmins keep theirs', async () => {
    const off = { body: { passwordSignIn: 'superadmins' as const } }
    await world.configure({ issuer: 'http://127.0.0.1:9' })
    expect(await codeOf(world.admin.updateSettings(off))).toBe('sso_provider_unreachable')
    await world.configure({ active: false })
    expect(await codeOf(world.admin.updateSettings(off))).toBe('bad_request')
    await world.configure()
    const person = newPerson()
    await world.manager.addUser(person.email)
    await world.admin.updateSettings(off)
    try {
      expect(await codeOf(world.manager.signIn({ email: person.email, password: PASSWORD }))).toBe(
        'password_sign_in_off',
      )
      expect(await codeOf(world.manager.signIn({ email: person.email, password: 'wrong' }))).toBe('login_failed')
      expect(await codeOf(world.manager.signIn())).toBe('ok')
      expect(await codeOf(world.admin.deleteSignInProvider({ params }))).toBe('sign_in_provider_in_use')
      expect(await codeOf(world.configure({ active: false }))).toBe('sign_in_provider_in_use')
    } finally {
      await world.admin.updateSettings({ body: { passwordSignIn: 'everyone' } })
    }
  })

  test('a superadmin whom a provider made does not count as the last one', async () => {
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'root', projects: [], role: 'superadmin' }] })
    const { token } = await world.signIn(newPerson({ groups: ['root'] }))
    const api = world.manager.api(token ?? '')
    const { items } = await api.listUsers({ query: { role: 'superadmin', limit: 100 } })
    const codes: unknown[] = []
    for (const { id } of items.filter(({ id }) => id !== items.at(-1)?.id)) {
      codes.push(await codeOf(api.updateUser({ params: { id }, body: { role: 'user' } })))
    }
    expect(codes).toContain('last_superadmin')
  })
})
