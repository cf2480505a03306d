import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient, type UserChange } from '#manager/contract'
import { ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { signedApi, startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { codeOf, PASSWORD, tokenOf } from './account-steps.ts'

/**
 * An invitation or link of an administrator is valid only while the administrator has the right to make it: nobody can return with their
 * own invitation.
 */
let manager: TestManager
let admin: ApiClient
let lead: { id: string; api: ApiClient; email: string }
let number = 0

beforeAll(async () => {
  manager = await startTestManager()
  admin = (await manager.signIn()).api
  await admin.updateSettings({ body: { allowSignUp: 'invitation' } })
  await admin.createDomain({ body: { name: 'lab' } })
})
afterAll(() => manager[Symbol.asyncDispose]())
beforeEach(async () => {
  const email = `lead-${++number}@example.org`
  lead = { email, ...(await manager.addUser(email, 'domain_admin')) }
})

const LOSSES: readonly (readonly [string, UserChange, UserChange])[] = [
  ['deactivated', { active: false }, { active: true }],
  ['demoted', { role: 'user' }, { role: 'domain_admin' }],
  ['moved to another domain', { domain: 'lab' }, { domain: 'default' }],
]
const change = (body: UserChange) => admin.updateUser({ params: { id: lead.id }, body })
const fresh = () => `made-${++number}@example.org`
const signUp = (invitation: string) =>
  codeOf(manager.api().signUp({ body: { email: fresh(), name: 'Back again', password: PASSWORD, invitation } }))
const setPassword = (token: string) =>
  codeOf(manager.api().resetPassword({ body: { token, password: 'Of-the-lead-9' } }))

describe.each(LOSSES)('whoever was %s', (_what, loss, gain) => {
  test('comes back by no invitation of their own, until the right is there again', async () => {
    const { token, id } = await lead.api.createInvitation({ body: { days: 90 } })
    await change(loss)
    expect(await signUp(token)).toBe('invitation_invalid')
    const listed = async () => (await admin.listInvitations()).items.find(one => one.id === id)
    expect(await listed()).toMatchObject({ status: 'ended', createdBy: lead.email })
    await change(gain)
    expect(await listed()).toMatchObject({ status: 'open' })
    expect(await signUp(token)).toBe('ok')
  })

  test('uses no link that they had in hand', async () => {
    const { items } = await lead.api.importUsers({ body: { rows: [{ email: fresh() }] } })
    const { id } = await lead.api.createUser({ body: { email: fresh(), name: 'Ann', password: PASSWORD } })
    const { url } = await lead.api.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
    await change(loss)
    expect(await setPassword(tokenOf(items[0]?.link?.url ?? null))).toBe('link_invalid')
    expect(await setPassword(tokenOf(url))).toBe('link_invalid')
    await change(gain)
    expect(await setPassword(tokenOf(url))).toBe('ok')
  })
})

test('a superadmin who is an admin of a domain now has lost the links of a superadmin, and invites into the own domain', async () => {
  const { id: maker, api } = await manager.addUser(fresh(), 'superadmin')
  const { id } = await api.createUser({ body: { email: fresh(), name: 'Ann', password: PASSWORD } })
  const { url } = await api.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
  const elsewhere = await api.createInvitation({ body: { domain: 'lab' } })
  const own = await api.createInvitation({ body: {} })
  await admin.updateUser({ params: { id: maker }, body: { role: 'domain_admin' } })
  expect(await setPassword(tokenOf(url))).toBe('link_invalid')
  expect(await signUp(elsewhere.token)).toBe('invitation_invalid')
  expect(await signUp(own.token)).toBe('ok')
})

test('a superadmin whose domain was deactivated uses no link in hand and no invitation, until it is active again', async () => {
  const domain = `closing-${++number}`
  await admin.createDomain({ body: { name: domain } })
  const { api } = await manager.addUser(fresh(), 'superadmin', domain)
  const { id } = await admin.createUser({ body: { email: fresh(), name: 'Ann', password: PASSWORD } })
  const { url } = await api.createAccountLink({ params: { id }, body: { purpose: 'reset', inHand: true } })
  const invitation = await api.createInvitation({ body: { domain: 'lab' } })
  const listed = async () => (await admin.listInvitations()).items.find(one => one.id === invitation.id)
  await admin.updateDomain({ params: { name: domain }, body: { active: false } })
  expect(await setPassword(tokenOf(url))).toBe('link_invalid')
  expect(await signUp(invitation.token)).toBe('invitation_invalid')
  expect(await listed()).toMatchObject({ status: 'ended' })
  await admin.updateDomain({ params: { name: domain }, body: { active: true } })
  expect(await listed()).toMatchObject({ status: 'open' })
  expect(await signUp(invitation.token)).toBe('ok')
  expect(await setPassword(tokenOf(url))).toBe('ok')
})

test.each<[string, (id: string, domain: string) => Promise<unknown>]>([
  ['was demoted', id => admin.updateUser({ params: { id }, body: { role: 'user' } })],
  ['was deactivated', id => admin.updateUser({ params: { id }, body: { active: false } })],
  ['is in a domain that was', (_id, name) => admin.updateDomain({ params: { name }, body: { active: false } })],
])('no new agent joins with the token of a superadmin who %s; the one that joined stays', async (_what, lose) => {
  const domain = `hosts-${++number}`
  await admin.createDomain({ body: { name: domain } })
  const { id, api } = await manager.addUser(fresh(), 'superadmin', domain)
  const [used, unused] = [await api.createJoinToken({ body: {} }), await api.createJoinToken({ body: {} })]
  const { url } = manager
  await using agent = new ScriptedAgent({ url, join: used.join, name: 'joined' })
  await agent.connect()
  await lose(id, domain)
  await using late = new ScriptedAgent({ url, join: unused.join, name: 'late' })
  await late.connect()
  expect(late.refusal?.code).toBe('join_token_invalid')
  await agent.disconnect()
  await agent.connect()
  expect(agent.refusal).toBeUndefined()
})

test.each<[string, (maker: ApiClient, id: string) => Promise<{ maker: ApiClient; lose: () => Promise<unknown> }>]>([
  ['signed out', maker => Promise.resolve({ maker, lose: () => maker.logout() })],
  [
    'deactivated the keypair',
    async maker => {
      const keypair = await maker.createKeypair({ body: {} })
      const { accessKey } = keypair
      const lose = () => maker.updateKeypair({ params: { accessKey }, body: { active: false } })
      return { maker: signedApi(manager.url, keypair), lose }
    },
  ],
])('no agent joins with the token of a superadmin who has %s since', async (_what, by) => {
  const { id, api } = await manager.addUser(fresh(), 'superadmin')
  const { maker, lose } = await by(api, id)
  const token = await maker.createJoinToken({ body: {} })
  const listed = async () => (await admin.listJoinTokens()).items.find(one => one.id === token.id)
  expect(await listed()).toMatchObject({ status: 'open', resourceGroup: 'default', replaces: null })
  await lose()
  expect(await listed()).toMatchObject({ status: 'ended' })
  await using late = new ScriptedAgent({ url: manager.url, join: token.join, name: 'late' })
  await late.connect()
  expect(late.refusal?.code).toBe('join_token_invalid')
})

test('superadmins see open join strings with their makers, and withdraw them; the one that a host used is gone from the list', async () => {
  const email = fresh()
  const { api } = await manager.addUser(email, 'superadmin')
  const [used, withdrawn] = [await api.createJoinToken({ body: {} }), await api.createJoinToken({ body: {} })]
  const { url } = manager
  await using agent = new ScriptedAgent({ url, join: used.join, name: 'in-time' })
  await agent.connect()
  const { items } = await admin.listJoinTokens()
  expect(items.filter(({ maker }) => maker === email)).toMatchObject([{ id: withdrawn.id, status: 'open' }])
  expect(JSON.stringify(items)).not.toContain(withdrawn.token)
  const setUp = (token: string) =>
    fetch(`${url}/api/v1/host-setup/script`, { headers: { authorization: `Bearer ${token}` } }).then(reply =>
      reply.text(),
    )
  const why = 'or was withdrawn'
  await admin.withdrawJoinToken({ params: { id: withdrawn.id } })
  expect(await setUp(withdrawn.token)).toContain(why)
  await using late = new ScriptedAgent({ url, join: withdrawn.join, name: 'too-late' })
  await late.connect()
  expect(late.refusal?.code).toBe('join_token_invalid')
  for (const id of [withdrawn.id, used.id])
    expect(await codeOf(admin.withdrawJoinToken({ params: { id } }))).toBe('not_found')
  for (const call of [lead.api.listJoinTokens(), lead.api.withdrawJoinToken({ params: { id: used.id } })])
    expect(await codeOf(call)).toBe('forbidden')
})

test('a link in hand ends where its account has become a superadmin', async () => {
  const { id } = await lead.api.createUser({ body: { email: fresh(), name: 'Ann', password: PASSWORD } })
  const { items } = await lead.api.importUsers({ body: { rows: [{ email: fresh() }] } })
  await admin.updateUser({ params: { id: items[0]?.id ?? id }, body: { role: 'superadmin' } })
  expect(await setPassword(tokenOf(items[0]?.link?.url ?? null))).toBe('link_invalid')
})

test('a keypair makes no invitations', async () => {
  const keypair = await admin.createKeypair({ body: {} })
  const signed = signedApi(manager.url, keypair)
  expect(await codeOf(signed.createInvitation({ body: { days: 90 } }))).toBe('forbidden')
})
