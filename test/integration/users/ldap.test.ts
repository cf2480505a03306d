import { createServer } from 'node:net'
import { once } from 'node:events'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { AppError, type DirectoryChange } from '#manager/contract'
import { freePort } from '../../fixtures/free-port.ts'
import { BASE } from '../../fixtures/slapd.ts'
import { codeOf, PASSWORD } from './account-steps.ts'
import { DIRECTORY, type LdapWorld, startLdapWorld } from './ldap-steps.ts'

/** Sign-ins at an LDAP directory: Debian's slapd. */
let world: LdapWorld
beforeAll(async () => {
  world = await startLdapWorld()
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(() => world.configure())

const params = { id: DIRECTORY }
const causeOf = async (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: unknown) => (error instanceof AppError ? (error.detail.cause ?? error.code) : error),
  )

describe('a sign-in at a directory', () => {
  test('makes an account at the first time, and finds it again by its identifier, whatever its address is then', async () => {
    const ada = await world.person()
    const { user, token } = await world.signIn(ada)
    expect(user).toMatchObject({ email: ada.mail, role: 'user', domain: 'default', emailVerified: true })
    expect((await world.manager.api(token ?? '').me()).user.id).toBe(user.id)
    await world.slapd.set(ada.dn, 'mail', 'someone-else@example.org')
    expect((await world.signIn(ada)).user).toMatchObject({ id: user.id, email: ada.mail })
    const { items } = await world.admin.listUserIdentities({ params: { id: user.id } })
    expect(items).toMatchObject([
      { issuer: expect.stringMatching(/^ldap:lab:[0-9a-f]{16}$/) as string, email: 'someone-else@example.org' },
    ])
    expect(items[0]?.subject).toMatch(/^entryuuid=[0-9a-f-]{36}$/)
  })

  test('says the same for a wrong password, an unknown name, and no password, which is never sent', async () => {
    const ada = await world.person()
    for (const wrong of [
      { ...ada, password: 'wrong' },
      { uid: 'nobody-of-this-name', password: 'wrong' },
      { ...ada, password: '' },
      { uid: ' ', password: 'wrong' },
    ]) {
      expect(await codeOf(world.signIn(wrong))).toBe('sso_login_failed')
    }
  })

  test('takes a name as a name: no part of a filter, and no wildcard', async () => {
    const ada = await world.person()
    for (const uid of ['*', `${ada.uid})(uid=*`, `*)(objectClass=*`, 'person-*', `${ada.uid})`, '\\2a'])
      expect(await codeOf(world.signIn({ ...ada, uid }))).toBe('sso_login_failed')
    expect(await codeOf(world.signIn({ ...ada, uid: `${ada.uid}\u0000` }))).toBe('bad_request')
    const odd = await world.person({ uid: 'ada (x*), \\ ü', mail: 'odd@example.org' })
    expect((await world.signIn(odd)).user.email).toBe('odd@example.org')
  })

  test('signs in nobody if a name finds several people', async () => {
    const twin = await world.person({ mail: 'twin@example.org' })
    await world.person({ mail: 'twin@example.org' })
    await world.configure({}, { userFilter: '(mail={username})' })
    expect(await causeOf(world.signIn({ ...twin, uid: 'twin@example.org' }))).toBe('directory_several')
  })

  test('refuses an account that the directory has switched off, though its password is right', async () => {
    const off = await world.person({ userAccountControl: 514 })
    const on = await world.person({ userAccountControl: 512 })
    expect(await causeOf(world.signIn(off))).toBe('directory_disabled')
    expect(await codeOf(world.signIn({ ...off, password: 'wrong' }))).toBe('sso_login_failed')
    expect(await codeOf(world.signIn(on))).toBe('ok')
  })

  test('knows people of Active Directory by bytes', async () => {
    const objectGUID = Buffer.from('ff0080c3289b2a5c290000fe7f28292a', 'hex')
    const ada = await world.person({ objectGUID })
    await world.configure({}, { idAttribute: 'objectGUID' })
    const { user } = await world.signIn(ada)
    const { items } = await world.admin.listUserIdentities({ params: { id: user.id } })
    expect(items[0]?.subject).toBe(`objectguid=${objectGUID.toString('hex')}`)
    const without = await world.person()
    expect(await causeOf(world.signIn(without))).toBe('directory_no_id')
  })

  test('binds as the person where no account searches, and again as the entry that it found', async () => {
    const ada = await world.person()
    const bob = await world.person({ password: ada.password })
    const direct = { bindDn: null, directBind: `uid={username},ou=people,${BASE}` }
    await world.configure({ clientSecret: null }, direct)
    expect((await world.signIn(ada)).user.email).toBe(ada.mail)
    expect(await codeOf(world.signIn({ ...ada, password: 'wrong' }))).toBe('sso_login_failed')
    expect(await codeOf(world.signIn({ ...ada, uid: `${ada.uid},ou=people` }))).toBe('sso_login_failed')
    // The name that binds is Ada's, and the one that is searched is another person's with another password.
    await world.slapd.set(bob.dn, 'userPassword', 'another-password')
    await world.configure({ clientSecret: null }, { ...direct, userFilter: `(&(uid=${bob.uid})(!(cn={username})))` })
    expect(await codeOf(world.signIn(ada))).toBe('sso_login_failed')
  })

  test('asks for the second factor of Berth without the password of the directory', async () => {
    const ada = await world.person()
    const { id, api } = await world.manager.addUser(ada.mail)
    const { secret } = await api.enrolTotp({ body: { password: PASSWORD } })
    const totp = new TOTP({ secret: Secret.fromBase32(secret) })
    await api.confirmTotp({ body: { code: totp.generate() } })
    await world.configure({ linkByEmail: true, emailDomains: ['example.org'] })
    const anybody = world.manager.api()
    const proof = await anybody.proveAtDirectory({
      body: { provider: DIRECTORY, username: ada.uid, password: ada.password },
    })
    const finish = (more: { totp?: string } = {}) =>
      anybody.finishSso({ body: { secret: proof.secret, code: proof.code, kind: 'token', ...more } })
    expect(await codeOf(finish())).toBe('totp_required')
    const next = totp.generate({ timestamp: Date.now() + 30_000 })
    expect((await finish({ totp: next })).user.id).toBe(id)
    expect(await codeOf(finish({ totp: next }))).toBe('sso_expired')
  })

  test('slows down guesses by name, however it is written', async () => {
    const ada = await world.person()
    const tries = []
    // Directories compare without soft hyphens and the like (RFC 4518, section 2.2), Active Directory also without accents.
    for (const uid of [
      ada.uid,
      ada.uid.toUpperCase(),
      ` ${ada.uid} `,
      `${ada.uid}\u00ad`,
      `\u200b${ada.uid}`,
      `${ada.uid}\u0301`,
    ])
      tries.push(await codeOf(world.signIn({ uid, password: 'wrong' })))
    expect(tries.slice(0, 5)).toEqual(Array(5).fill('sso_login_failed'))
    expect(tries.at(-1)).toBe('login_throttled')
  })
})

describe('whose account it is', () => {
  test('an equal address takes over no account, unless a superadmin allows it for its mail domain', async () => {
    await world.configure({ createAccounts: false })
    const ada = await world.person()
    expect(await codeOf(world.signIn(ada))).toBe('sso_no_account')
    const { id } = await world.manager.addUser(ada.mail)
    expect(await causeOf(world.signIn(ada))).toBe('sso_account_unlinked')
    await world.configure({ linkByEmail: true, emailDomains: ['example.org'], trustEmail: false })
    expect(await codeOf(world.signIn(ada))).toBe('sso_email_unverified')
    await world.configure({ linkByEmail: true, emailDomains: ['example.org'] })
    expect((await world.signIn(ada)).user.id).toBe(id)
    const other = await world.person({ mail: 'admin@example.org' })
    await world.manager.addUser(other.mail, 'superadmin')
    expect(await codeOf(world.signIn(other))).toBe('sso_account_taken')
  })

  test('a person links the account in the directory with both passwords', async () => {
    const ada = await world.person({ mail: 'at-work@example.org' })
    const email = 'ada-links@example.net'
    await world.manager.addUser(email)
    const { api } = await world.manager.signIn({ email, password: PASSWORD })
    const body = { provider: DIRECTORY, username: ada.uid, directoryPassword: ada.password, password: PASSWORD }
    expect(await codeOf(api.proveLinking({ body: { ...body, password: 'wrong' } }))).toBe('login_failed')
    expect(await codeOf(api.proveLinking({ body: { ...body, directoryPassword: 'wrong' } }))).toBe('sso_login_failed')
    const { secret, code } = await api.proveLinking({ body })
    const anybody = world.manager.api()
    expect(await codeOf(anybody.finishSso({ body: { secret, code, kind: 'token' } }))).toBe('sso_expired')
    expect(await api.checkLinking({ body: { secret, code } })).toMatchObject({ provider: 'The lab', email: ada.mail })
    await api.finishLinking({ body: { secret, code } })
    expect((await world.signIn(ada)).user.email).toBe(email)
  })
})

describe('groups of the directory', () => {
  test.each([
    ['memberOf', {}],
    ['search', { groupFilter: '(member={dn})', groupBase: `ou=groups,${BASE}` }],
  ] as const)('give projects and a role, and take them back (%s)', async (groups, more) => {
    const ada = await world.person()
    const other = await world.person()
    const staff = await world.slapd.addGroup(`staff (${groups})`, [other.dn, ada.dn])
    const it = await world.slapd.addGroup(`it-${groups}`, [other.dn])
    const project = await world.admin.createGroup({ body: { name: `research-${groups}`, domain: 'default' } })
    const mapping = [
      { group: staff.replaceAll(',', ', ').toUpperCase(), projects: [project.name], role: null },
      { group: it, projects: [], role: 'domain_admin' as const },
    ]
    await world.configure({ mapping }, { groups, ...more })
    const first = await world.signIn(ada)
    expect(first.user).toMatchObject({ role: 'user' })
    expect(first.user.groups.map(({ name }) => name)).toContain(project.name)
    await world.slapd.addMember(it, ada.dn)
    await world.slapd.removeMember(staff, ada.dn)
    const second = await world.signIn(ada)
    expect(second.user.role).toBe('domain_admin')
    expect(second.user.groups.map(({ name }) => name)).not.toContain(project.name)
    await world.configure({ mapping: [] }, { groups, ...more })
    const { role } = await world.admin.getUser({ params: { id: first.user.id } })
    expect(role).toBe('user')
  })
})

describe('settings of a directory', () => {
  const change = (directory: DirectoryChange, clientSecret?: string | null) =>
    world.admin.updateSignInProvider({
      params,
      body: { directory, ...(clientSecret === undefined ? {} : { clientSecret }) },
    })

  test('are offered as a directory, and the password of the bind account is shown nowhere', async () => {
    expect((await world.manager.api().authOptions()).providers).toEqual([
      { id: DIRECTORY, name: 'The lab', kind: 'ldap' },
    ])
    const listed = await world.admin.listSignInProviders()
    expect(JSON.stringify(listed)).not.toContain(world.slapd.bindPassword)
    expect(listed.items).toMatchObject([{ id: DIRECTORY, kind: 'ldap', clientSecretSet: true, clientId: '' }])
    expect(await causeOf(world.manager.api().startSso({ body: { provider: DIRECTORY } }))).toBe('use_name_and_password')
  })

  test('never let a password cross a network unencrypted', async () => {
    const secret = world.slapd.bindPassword
    expect(await causeOf(change({ urls: ['ldap://dc1.example.org'] }, secret))).toBe('directory_needs_tls')
    expect(await causeOf(change({ urls: ['ldap://127.0.0.1.example.org'] }, secret))).toBe('directory_needs_tls')
    expect(await codeOf(change({ urls: ['ldap://dc1.example.org'], startTls: true }, secret))).toBe('ok')
  })

  test('drop the password with another server or account, so it is never sent elsewhere', async () => {
    for (const directory of [
      { urls: ['ldaps://dc2.example.org'] },
      { bindDn: `cn=other,${BASE}` },
      { caCertificates: null },
    ])
      expect(await causeOf(change(directory))).toBe('provider_needs')
    expect(await codeOf(change({ nameAttribute: 'displayName' }))).toBe('ok')
  })

  test('are refused where they cannot work', async () => {
    expect(await causeOf(change({ userFilter: '(uid={username}' }))).toBe('directory_filter')
    expect(await causeOf(change({ userFilter: '(uid=ada)' }))).toBe('directory_template')
    expect(await causeOf(change({ directBind: 'uid={username}' }))).toBe('directory_one_bind')
    expect(
      await causeOf(world.admin.updateSignInProvider({ params, body: { issuer: 'https://id.example.org' } })),
    ).toBe('provider_takes_not')
    expect(await causeOf(world.configure({ mapping: [{ group: 'cn=x', projects: [], role: null }] }))).toBe(
      'mapping_needs_claim',
    )
    expect(
      await causeOf(world.admin.createSignInProvider({ body: { id: 'other', kind: 'ldap', name: 'Other' } })),
    ).toBe('provider_needs')
    expect(await causeOf(world.admin.createSignInProvider({ body: { id: 'other', name: 'Other' } }))).toBe(
      'provider_needs',
    )
  })
})

describe('the test of a directory says in words', () => {
  const tested = (directory: DirectoryChange, clientSecret = world.slapd.bindPassword) =>
    world.configure({ clientSecret }, directory).then(() => causeOf(world.admin.testSignInProvider({ params })))

  test('who answered, and how the way is protected', async () => {
    const { ldap, ldaps, bindDn } = world.slapd
    const away = `ldaps://127.0.0.1:${await freePort()}`
    await world.configure({}, { urls: [away, ldaps] })
    expect(await world.admin.testSignInProvider({ params })).toEqual({
      ...{ kind: 'ldap', server: ldaps, encryption: 'tls', boundAs: bindDn, skipped: [away] },
    })
    await world.configure({}, { urls: [ldap], startTls: true })
    expect(await world.admin.testSignInProvider({ params })).toMatchObject({ server: ldap, encryption: 'starttls' })
    await world.configure({}, { urls: [ldap] })
    expect(await world.admin.testSignInProvider({ params })).toMatchObject({ server: ldap, encryption: 'none' })
  })

  test('what failed: the name, the connection, TLS, the bind, the base', async () => {
    const { ldaps, bindDn } = world.slapd
    expect(await tested({ urls: ['ldaps://no-such-host.invalid'] })).toBe('directory_name')
    expect(await tested({ urls: [`ldaps://127.0.0.1:${await freePort()}`] })).toBe('directory_away')
    expect(await tested({ urls: ['ldaps://169.254.169.254'] })).toBe('directory_address')
    expect(await tested({ urls: [ldaps], caCertificates: null })).toBe('directory_tls')
    expect(await tested({ urls: [ldaps] }, 'wrong')).toBe('directory_bind')
    expect(await tested({ bindDn: `cn=nobody,${BASE}` })).toBe('directory_bind')
    expect(await tested({ base: 'dc=nowhere' })).toBe('directory_base')
    expect(await tested({ bindDn })).toBe('ok')
  })

  test('that a server does not speak LDAP, or says more than it should before TLS', async () => {
    for (const answer of [
      'HTTP/1.1 400 Bad Request\r\n\r\n',
      Buffer.from('300c02010178070a010004000400300c0201', 'hex'),
    ]) {
      const server = createServer(
        socket => void socket.on('error', () => undefined).once('data', () => socket.end(answer)),
      )
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = server.address() as { port: number }
      expect(await tested({ urls: [`ldap://127.0.0.1:${port}`], startTls: true })).toBe('directory_starttls')
      server.close()
    }
  })

  test('whom a name finds, with the groups to copy into the mapping', async () => {
    const ada = await world.person()
    const group = await world.slapd.addGroup('to-look-up', [ada.dn])
    await world.configure({ mapping: [{ group, projects: [], role: null }] }, { groups: 'memberOf' })
    const lookUp = (username: string) => world.admin.lookUpInDirectory({ params, body: { username } })
    expect(await lookUp(ada.uid)).toMatchObject({
      dn: ada.dn,
      email: ada.mail,
      disabled: false,
      groups: [group],
      mapped: [group],
    })
    expect(await causeOf(lookUp('nobody-of-this-name'))).toBe('directory_no_person')
    const { api } = await world.manager.addUser('domain-admin@example.org', 'domain_admin')
    expect(await codeOf(api.lookUpInDirectory({ params, body: { username: ada.uid } }))).toBe('forbidden')
  })
})

test('no password is in the log or the audit log', async () => {
  const ada = await world.person({ password: 'Very-secret-words-7' })
  await world.signIn(ada)
  expect(await codeOf(world.signIn({ ...ada, password: 'Wrong-secret-words-8' }))).toBe('sso_login_failed')
  const audit = JSON.stringify(await world.admin.listAuditLog({ query: { limit: 100 } }))
  expect(audit).toContain('proveAtDirectory')
  expect(audit).not.toMatch(/secret-words/)
})
