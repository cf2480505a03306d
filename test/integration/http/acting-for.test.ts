import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type ApiClient, AppError, type Role, type RouteName, ROUTES, type RouteSpec } from '#manager/contract'
import { apiOf, signedApi } from '../../fixtures/manager.ts'
import { ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { type SmtpServer, startSmtpServer } from '../../fixtures/smtp-server.ts'

/**
 * Role × route × acting for: after every action of one person on another, everything that the first can now read, enter or start but could
 * not before. The list of actions comes from the table of routes, so that a new route that names another person fails until it has a row
 * here. The expected lists repeat the rule of ADR 59.
 */

/** Gains that are possible for the first person. */
type Gain = 'signs in' | 'replaces the password' | 'dotfiles' | 'files' | 'terminal' | 'secret'
type Actor = 'user' | 'domain_admin' | 'superadmin'
interface Person {
  readonly id: string
  readonly email: string
  readonly api: ApiClient
}
interface Victim extends Person {
  readonly folder: string
  readonly session: string
  readonly keypair: string
}
/** An action of the first person. It returns everything sent and received: everything that this person has. */
type Act = (actor: Person, victim: Victim) => Promise<unknown>
interface Row {
  readonly by: readonly Actor[]
  readonly act: Act
  /** Without mail, for an account without a second factor; empty with either. Left out: nothing. */
  readonly gives?: readonly Gain[]
  /** Gain of superadmins even if mail reaches the person. */
  readonly keptWay?: true
}

const ADMINS = ['domain_admin', 'superadmin'] as const
const ALL = ['user', ...ADMINS] as const
const PASSWORD = 'Their-own-pass-1'
const CHOSEN = 'Chosen-by-other-1'
const NAMED = new Set(['userId', 'owner', 'email'])
const on = (id: string) => ({ params: { id: id } })
const onMember = (id: string, victim: Victim) => ({ params: { id: id, userId: victim.id } })
const onKey = ({ keypair }: Victim) => ({ params: { accessKey: keypair } })

const ROWS: Partial<Record<RouteName, Row>> = {
  getUser: { by: ADMINS, act: ({ api }, { id }) => api.getUser(on(id)) },
  listUserLogins: { by: ADMINS, act: ({ api }, { id }) => api.listUserLogins(on(id)) },
  listUserIdentities: { by: ['superadmin'], act: ({ api }, { id }) => api.listUserIdentities(on(id)) },
  endUserLogins: { by: ADMINS, act: ({ api }, { id }) => api.endUserLogins(on(id)) },
  removeUserIdentities: { by: ['superadmin'], act: ({ api }, { id }) => api.removeUserIdentities(on(id)) },
  resetTotp: { by: ['superadmin'], act: ({ api }, { id }) => settled(api.resetTotp(on(id))) },
  updateUser: {
    by: ADMINS,
    act: async ({ api }, { id }) => ({
      password: CHOSEN,
      reply: await api.updateUser({ ...on(id), body: { password: CHOSEN } }),
    }),
    gives: ['replaces the password'],
    keptWay: true,
  },
  createAccountLink: {
    by: ADMINS,
    act: ({ api }, { id }) => api.createAccountLink({ ...on(id), body: { purpose: 'reset' } }),
    gives: ['replaces the password'],
  },
  createUserKeypair: {
    by: ADMINS,
    act: async ({ api }, { id }) => {
      const made = await api.createUserKeypair({ ...on(id), body: {} })
      return [made, await settled(api.acceptKeypair({ params: { accessKey: made.accessKey } }))]
    },
  },
  acceptKeypair: { by: ADMINS, act: ({ api }, victim) => settled(api.acceptKeypair(onKey(victim))) },
  updateKeypair: {
    by: ADMINS,
    act: ({ api }, victim) => api.updateKeypair({ ...onKey(victim), body: { active: false } }),
  },
  deleteKeypair: { by: ADMINS, act: ({ api }, victim) => api.deleteKeypair(onKey(victim)) },
  listKeypairs: { by: ALL, act: ({ api }, { id }) => api.listKeypairs({ query: { owner: id } }) },
  addGroupMember: { by: ADMINS, act: ({ api }, victim) => api.addGroupMember(onMember(project, victim)) },
  removeGroupMember: { by: ADMINS, act: ({ api }, victim) => api.removeGroupMember(onMember(project, victim)) },
  createSession: {
    by: ADMINS,
    act: ({ api }, { email }) => api.createSession({ body: { image: 'berth/python:3.13', owner: email } }),
  },
  whatIf: {
    by: ADMINS,
    act: ({ api }, { email }) => api.whatIf({ body: { image: 'berth/python:3.13', owner: email } }),
  },
  listSessions: { by: ALL, act: ({ api }, { id }) => api.listSessions({ query: { owner: id } }) },
  getResources: { by: ADMINS, act: ({ api }, { email }) => api.getResources({ query: { owner: email } }) },
  listPresets: { by: ADMINS, act: ({ api }, { email }) => api.listPresets({ query: { owner: email } }) },
  getUsage: { by: ADMINS, act: ({ api }, { id }) => api.getUsage({ query: { userId: id } }) },
  // An own template, from which a session for the other person would be launched.
  saveSessionTemplate: {
    by: ADMINS,
    act: ({ api }, { email }) => {
      const body = { image: 'berth/python:3.13', owner: email }
      return api.saveSessionTemplate({ params: { name: 'theirs' }, body: body })
    },
  },
  // The first person's own things, which the other one gets.
  shareSession: {
    by: ALL,
    act: async ({ api }, { email }) => {
      const { items } = await api.createSession({ body: { image: 'berth/python:3.13' } })
      const body = { email, permission: 'use' } as const
      return settled(api.shareSession({ ...on(items[0]?.id ?? ''), body }))
    },
  },
  unshareSession: { by: ALL, act: ({ api }, victim) => settled(api.unshareSession(onMember(victim.session, victim))) },
  inviteToFolder: {
    by: ALL,
    act: async ({ api }, { email }) => {
      const { id } = await api.createFolder({ body: { name: `mine-${crypto.randomUUID()}` } })
      return api.inviteToFolder({ ...on(id), body: { email } })
    },
  },
  updateFolderMember: {
    by: ALL,
    act: ({ api }, victim) =>
      settled(api.updateFolderMember({ ...onMember(victim.folder, victim), body: { permission: 'rw' } })),
  },
  deleteFolderMember: {
    by: ALL,
    act: ({ api }, victim) => settled(api.deleteFolderMember(onMember(victim.folder, victim))),
  },
  grantResourceGroupAccess: {
    by: ['superadmin'],
    act: ({ api }, { id }) => api.grantResourceGroupAccess({ params: { name: 'default' }, body: { userId: id } }),
  },
  withdrawResourceGroupAccess: {
    by: ['superadmin'],
    act: ({ api }, { id }) =>
      settled(api.withdrawResourceGroupAccess({ params: { name: 'default' }, query: { userId: id } })),
  },
  assignResourcePolicy: {
    by: ['superadmin'],
    act: ({ api }, { id }) => api.assignResourcePolicy({ params: { name: 'default' }, body: { userId: id } }),
  },
  // New accounts belonged to nobody before, so the first to act is their owner. Both actions are refused here, because the account exists.
  createUser: {
    by: ADMINS,
    act: ({ api }, { email }) => settled(api.createUser({ body: { email, name: 'Again', password: CHOSEN } })),
  },
  importUsers: { by: ADMINS, act: ({ api }, { email }) => api.importUsers({ body: { rows: [{ email }] } }) },
}

/** Names of fields, at any depth, that a schema of a request has. */
function fieldsOf(schema: z.ZodType | undefined): string[] {
  const found: string[] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { properties } = node as { properties?: object }
    found.push(...Object.keys(properties ?? {}))
    Object.values(node).forEach(walk)
  }
  if (schema) walk(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
  return found
}
const namesAnother = ({ path, access, body, query }: RouteSpec) =>
  access !== 'none' &&
  access !== 'console' &&
  (/\/users\/:id|:userId|\/keypairs\/:accessKey/.test(path) ||
    [...fieldsOf(body), ...fieldsOf(query)].some(name => NAMED.has(name)))

/** Like the answer, with the refusal as a value. */
const settled = (call: Promise<unknown>) =>
  call.catch((error: unknown) => (error instanceof AppError ? error.code : error))
const works = (call: Promise<unknown>) =>
  call.then(
    () => true,
    (error: unknown) =>
      !['forbidden', 'not_signed_in', 'folder_not_found', 'session_not_found'].includes((error as AppError).code),
  )

let world: AsyncDisposableStack
let cluster: SessionsCluster
let smtp: SmtpServer
let project: string
const actors = new Map<Actor, Person>()
let number = 0

async function signIn(email: string, password = PASSWORD): Promise<ApiClient> {
  const { token } = await apiOf(cluster.url).login({ body: { email, password, kind: 'token' } })
  return apiOf(cluster.url, token ?? '')
}
async function person(role: Role): Promise<Person> {
  const email = `acting-${++number}@example.org`
  const body = { email, name: email, password: PASSWORD, role, mustChangePassword: false }
  const { id } = await cluster.api.createUser({ body })
  return { id, email, api: await signIn(email) }
}

async function newVictim(secondFactor: boolean): Promise<Victim> {
  const one = await person('user')
  await one.api.putDotfile({ body: { path: '.netrc', content: 'password hunter2', mode: '600' } })
  const folder = await one.api.createFolder({ body: { name: 'private' } })
  const { items } = await one.api.createSession({ body: { image: 'berth/python:3.13' } })
  const { accessKey } = await one.api.createKeypair({ body: {} })
  if (secondFactor) {
    const { secret } = await one.api.enrolTotp({ body: { password: PASSWORD } })
    await one.api.confirmTotp({ body: { code: new TOTP({ secret: Secret.fromBase32(secret) }).generate() } })
  }
  return { ...one, folder: folder.id, session: items[0]?.id ?? '', keypair: accessKey }
}

/** Gains of this client from the victim's private things. */
async function reach(api: ApiClient, victim: Victim, as: 'another' | 'victim'): Promise<Gain[]> {
  const tries: (readonly [Gain, Promise<boolean>])[] = [
    ['files', works(api.listFiles({ params: { id: victim.folder }, query: {} }))],
    ['terminal', works(api.getSshAccess({ params: { id: victim.session } }))],
  ]
  const gained: Gain[] = []
  for (const [gain, tried] of tries) if (await tried) gained.push(gain)
  if (as === 'victim' && (await api.listDotfiles()).items.length > 0) gained.push('dotfiles')
  return gained
}

/** Everything that somebody with these things can do now. */
async function gainsOf(actor: Person, victim: Victim, hand: unknown): Promise<Gain[]> {
  const text = JSON.stringify(hand ?? null)
  const gained: Gain[] = await reach(actor.api, victim, 'another')
  const anybody = apiOf(cluster.url)
  const secretKey = /"secretKey":"([^"]+)"/.exec(text)?.[1]
  const accessKey = /"accessKey":"([^"]+)"/.exec(text)?.[1] ?? victim.keypair
  if (secretKey !== undefined) {
    gained.push('secret')
    if (await works(signedApi(cluster.url, { accessKey, secretKey }).me())) gained.push('signs in')
  }
  const token = /token=([\w-]+)/.exec(text)?.[1]
  const next = 'Taken-over-pass-9'
  const { email } = victim
  const tryPassword = async (password: string, more: object = {}) =>
    anybody.login({ body: { email, password, kind: 'token', ...more } }).then(
      ({ token: mine }) => ({ mine }),
      (error: unknown) => ({ code: (error as AppError).code }),
    )
  let entered: string | undefined
  if (
    token !== undefined &&
    (await settled(anybody.resetPassword({ body: { token, password: next } }))) === undefined
  ) {
    const result = await tryPassword(next)
    if ('mine' in result) entered = result.mine ?? ''
  }
  if (text.includes(CHOSEN)) {
    const result = await tryPassword(CHOSEN)
    if ('mine' in result) gained.push('signs in')
    else if (result.code === 'password_change_required') {
      const replaced = await tryPassword(CHOSEN, { newPassword: next })
      if ('mine' in replaced) entered = replaced.mine ?? ''
    }
  }
  // The person notices, because their own password has ended.
  if (entered !== undefined && (await settled(signIn(email))) === 'login_failed') gained.push('replaces the password')
  return gained.toSorted()
}

beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  cluster = opening.use(await startSessionsCluster())
  const { join } = await cluster.manager.createJoinToken()
  const agent = opening.use(await new ScriptedAgent({ url: cluster.url, join }).connect())
  await vi.waitFor(async () => expect((await cluster.api.listImages()).items).not.toEqual([]), { timeout: 120_000 })
  await cluster.api.updateAgent({ params: { id: agent.id }, body: { schedulable: false } })
  smtp = opening.use(await startSmtpServer())
  const { items } = await cluster.api.listGroups()
  project = items[0]?.id ?? ''
  for (const role of ALL) actors.set(role, await person(role))
  world = opening.move()
})
afterAll(() => world.disposeAsync())
const setMail = (isOn: boolean) =>
  cluster.api.updateSettings({
    body: isOn
      ? {
          publicUrl: 'https://berth.example.org',
          smtpHost: 'localhost',
          smtpPort: smtp.port,
          smtpSecurity: 'none',
          smtpFrom: 'berth@example.org',
        }
      : { smtpHost: null, publicUrl: null },
  })

const verbs = (Object.entries(ROUTES) as [RouteName, RouteSpec][]).filter(([, route]) => namesAnother(route))
const cases = Object.entries(ROWS).flatMap(([name, row]) =>
  row.by.flatMap(actor =>
    [
      { mail: false, secondFactor: false },
      ...(row.gives || name === 'createUserKeypair' || name === 'resetTotp'
        ? [
            { mail: true, secondFactor: false },
            { mail: false, secondFactor: true },
          ]
        : []),
    ].map(given => ({ name, row, actor, ...given })),
  ),
)

test('every route that names another person has a row', () => {
  expect(verbs.length).toBeGreaterThan(25)
  expect(verbs.map(([name]) => name).toSorted()).toEqual(Object.keys(ROWS).toSorted())
})

describe('what somebody can do after a verb about another person that they could not before', () => {
  test.each(cases)('$name by $actor (mail: $mail, second factor: $secondFactor)', async one => {
    const { row, mail, secondFactor } = one
    const actor = actors.get(one.actor)
    if (!actor) throw new Error('no such actor')
    const victim = await newVictim(secondFactor)
    const before = await gainsOf(actor, victim, null)
    await setMail(mail)
    try {
      const hand = await settled(row.act(actor, victim))
      const after = await gainsOf(actor, victim, hand)
      const isGiven = !secondFactor && (!mail || (row.keptWay === true && one.actor === 'superadmin'))
      expect(after.filter(gain => !before.includes(gain))).toEqual(isGiven ? [...(row.gives ?? [])] : [])
      expect(before).toEqual([])
    } finally {
      await setMail(false)
    }
  })

  test.each(cases.filter(({ row, secondFactor }) => row.gives && !secondFactor))(
    '$name by the keypair of a $actor gives nothing (mail: $mail)',
    async ({ row, mail, actor: role }) => {
      const actor = actors.get(role)
      if (!actor) throw new Error('no such actor')
      const byKeypair = { ...actor, api: signedApi(cluster.url, await actor.api.createKeypair({ body: {} })) }
      const victim = await newVictim(false)
      await setMail(mail)
      try {
        const hand = await settled(row.act(byKeypair, victim))
        expect(hand).toBe('forbidden')
        expect(await gainsOf(byKeypair, victim, [hand, CHOSEN])).toEqual([])
      } finally {
        await setMail(false)
      }
    },
  )

  test('the victim is told of what was done about the account, and by whom', async () => {
    const [actor, victim] = [actors.get('superadmin'), await newVictim(false)]
    if (!actor) throw new Error('no such actor')
    const { id } = victim
    const made = await actor.api.createUserKeypair({ ...on(id), body: {} })
    await actor.api.deleteKeypair({ params: { accessKey: made.accessKey } })
    await actor.api.endUserLogins(on(id))
    await actor.api.createAccountLink({ ...on(id), body: { purpose: 'reset' } })
    await actor.api.updateUser({ ...on(id), body: { role: 'domain_admin' } })
    const { passwordLink } = await actor.api.updateUser({ ...on(id), body: { role: 'user' } })
    expect(passwordLink).toBeNull()
    await actor.api.updateUser({ ...on(id), body: { active: false } })
    await actor.api.updateUser({ ...on(id), body: { active: true, name: 'Other' } })
    await actor.api.updateUser({ ...on(id), body: { password: CHOSEN } })
    const anybody = apiOf(cluster.url)
    const body = { email: victim.email, password: CHOSEN, newPassword: PASSWORD, kind: 'token' } as const
    const { token } = await anybody.login({ body })
    const { items } = await apiOf(cluster.url, token ?? '').listMessages()
    // Messages of one change have the same time, so their order is undefined.
    const byOther = items.filter(({ from, about }) => from === actor.email && about !== 'account_made_password')
    expect(byOther.map(({ about, from }) => `${about} ${from}`).toSorted()).toEqual(
      [
        'keypair_made',
        'keypair_deleted',
        'sign_ins_ended',
        'password_link',
        'role_changed',
        'password_ended',
        'role_changed',
        'account_deactivated',
        'account_activated',
        'account_changed',
        'password_set',
      ]
        .map(kind => `${kind} ${actor.email}`)
        .toSorted(),
    )
  })
})

/**
 * Accounts that an admin of a domain creates without mail, and enters before their owner comes. `enter` uses the data that the admin has.
 */
const MAKING = {
  createUser: async ({ api }: Person, email: string) => {
    await api.createUser({ body: { email, name: 'New', password: CHOSEN } })
    return CHOSEN
  },
  importUsers: async ({ api }: Person, email: string) => {
    const { items } = await api.importUsers({ body: { rows: [{ email }] } })
    return byLink(items[0]?.link?.url)
  },
  acceptSignUpRequest: async ({ api }: Person, email: string) => {
    await cluster.api.updateSettings({ body: { allowSignUp: 'request' } })
    await apiOf(cluster.url).requestSignUp({ body: { email, name: 'New' } })
    const waiting = async () => (await api.listSignUpRequests({ query: {} })).items.find(one => one.email === email)
    await expect.poll(waiting).toBeDefined()
    const { link } = await api.acceptSignUpRequest({ params: { id: (await waiting())?.id ?? '' }, body: {} })
    return byLink(link?.url)
  },
  createInvitation: async ({ api }: Person, email: string) => {
    await cluster.api.updateSettings({ body: { allowSignUp: 'invitation' } })
    const { token } = await api.createInvitation({ body: {} })
    await apiOf(cluster.url).signUp({ body: { email, name: 'New', password: CHOSEN, invitation: token } })
    return CHOSEN
  },
}
const TAKEN = 'Taken-over-pass-9'
async function byLink(url: string | undefined): Promise<string> {
  const token = /token=([\w-]+)/.exec(url ?? '')?.[1] ?? ''
  await apiOf(cluster.url).resetPassword({ body: { token, password: CHOSEN } })
  return CHOSEN
}
/** Signs in with a password that may have to be replaced. @returns what the admin then has */
async function enterWith(email: string, password: string): Promise<{ api: ApiClient; password: string }> {
  const body = { email, password, kind: 'token' } as const
  const first = await settled(apiOf(cluster.url).login({ body }))
  if (first !== 'password_change_required') return { api: await signIn(email, password), password }
  const { token } = await apiOf(cluster.url).login({ body: { ...body, newPassword: TAKEN } })
  return { api: apiOf(cluster.url, token ?? ''), password: TAKEN }
}

/** Actions of a superadmin that end the doubt. */
const PHASES = {
  'the person came': async (id: string) => {
    const { url } = await cluster.api.createAccountLink({ ...on(id), body: { purpose: 'reset' } })
    const token = /token=([\w-]+)/.exec(url ?? '')?.[1] ?? ''
    await apiOf(cluster.url).resetPassword({ body: { token, password: PASSWORD } })
  },
  'the account was raised': (id: string) => cluster.api.updateUser({ ...on(id), body: { role: 'superadmin' } }),
  'the account was moved': (id: string) => cluster.api.updateUser({ ...on(id), body: { domain: 'lab' } }),
}

describe('an account that an admin of a domain has made and entered gives the admin nothing any more after', () => {
  beforeAll(() => cluster.api.createDomain({ body: { name: 'lab' } }))
  afterAll(() => cluster.api.updateSettings({ body: { allowSignUp: 'off' } }))
  const rows = Object.keys(PHASES).flatMap(phase => Object.keys(MAKING).map(name => ({ phase, name })))

  test.each(rows)('$phase ($name)', async ({ phase, name }) => {
    const actor = actors.get('domain_admin')
    if (!actor) throw new Error('no such actor')
    const email = `made-${++number}@example.org`
    const chosen = await MAKING[name as keyof typeof MAKING](actor, email)
    const inside = await enterWith(email, chosen)
    const { user } = await inside.api.me()
    const keypair = await inside.api.createKeypair({ body: {} })
    const waiting = await actor.api.createUserKeypair({ ...on(user.id), body: {} })
    const openLink = (await actor.api.createAccountLink({ ...on(user.id), body: { purpose: 'reset' } })).url ?? ''
    await PHASES[phase as keyof typeof PHASES](user.id)
    const again = (token: string) => apiOf(cluster.url).resetPassword({ body: { token, password: 'Once-more-pass-8' } })
    const { accessKey, secretKey } = keypair
    expect({
      signIn: await settled(inside.api.me()),
      password: await settled(signIn(email, inside.password)),
      signed: await settled(signedApi(cluster.url, keypair).me()),
      byKeypair: await settled(apiOf(cluster.url).loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })),
      link: await settled(again(/token=([\w-]+)/.exec(openLink)?.[1] ?? '')),
      accepts: await settled(inside.api.acceptKeypair({ params: { accessKey: waiting.accessKey } })),
    }).toEqual({
      signIn: 'not_signed_in',
      password: 'login_failed',
      signed: 'keypair_inactive',
      byKeypair: 'keypair_inactive',
      link: 'link_invalid',
      accepts: 'not_signed_in',
    })
  })
})

test('a policy that is assigned to a person, or to a keypair of theirs, is told to them', async () => {
  const [actor, victim] = [actors.get('superadmin'), await newVictim(false)]
  if (!actor) throw new Error('no such actor')
  const params = { name: 'default' }
  await actor.api.assignResourcePolicy({ params, body: { userId: victim.id } })
  await actor.api.assignResourcePolicy({ params, body: { accessKey: victim.keypair } })
  const { items } = await victim.api.listMessages()
  const byOther = items.filter(({ from, about }) => from === actor.email && about !== 'account_made_password')
  expect(byOther.map(({ about, detail }) => `${about} ${detail}`)).toEqual([
    `keypair_changed ${victim.keypair}`,
    'account_changed ',
  ])
})
