import { type IncomingMessage, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { apiOf, signedApi } from '../../fixtures/manager.ts'
import { browseProvider, type ProviderPerson } from '../../fixtures/oidc-provider.ts'
import { totpCode } from '../../fixtures/totp-code.ts'
import { codeOf, PASSWORD } from './account-steps.ts'
import { codeOfAddress, newPerson, PROVIDER, type SsoWorld, startSsoWorld } from './sso-steps.ts'

/** Sign-ins at a provider of OpenID Connect: the account that they enter, and an admin's settings. */
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
    expect((await anybody.authOptions()).providers).toEqual([{ id: PROVIDER, name: 'The lab', kind: 'oidc' }])
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

  test('an address with letters that look like others is refused with words for a person who cannot choose it', async () => {
    const person = newPerson({ email: '\u0430da@localhost' })
    await expect(world.signIn(person)).rejects.toMatchObject({ detail: { cause: 'sso_email_letters' } })
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
    // Announced once, not at each sign-in.
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
      // A link that the admin received and that is still valid.
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

  /** Like `world.signIn`, by a program that listens on a port of the browser's computer. */
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
    await api.confirmTotp({ body: { code: totpCode(secret) } })
    expect(await codeOf(world.signIn(person))).toBe('totp_required')
    expect(await codeOf(world.signIn(person, { totp: '000000' }))).toBe('totp_invalid')
    expect(await codeOf(signInAtPort(person))).toBe('totp_required')
    expect(await codeOf(world.signIn(person, { totp: totpCode(secret, 1) }))).toBe('ok')
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
    await api.confirmTotp({ body: { code: totpCode(secret) } })
    expect(await codeOf(world.signIn({ ...person, amr: ['mfa'] }))).toBe('totp_required')
    expect((await api.listOwnIdentities()).items).toEqual([])
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
    expect(Math.abs(check.kind === 'oidc' ? (check.clockDifferenceSeconds ?? 99) : 99)).toBeLessThan(30)
    await world.configure({ issuer: 'http://127.0.0.1:9' })
    expect(await codeOf(world.admin.testSignInProvider({ params }))).toBe('sso_provider_unreachable')
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
