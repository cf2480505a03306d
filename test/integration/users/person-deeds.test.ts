import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type ApiClient, type RouteName, ROUTES, type RouteSpec } from '#manager/contract'
import { signedApi, startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { codeOf } from './account-steps.ts'

/**
 * A keypair gives no role, and no way into somebody else's account: otherwise a stolen keypair of a superadmin could create superadmins
 * that stay after it is deactivated.
 */
let manager: TestManager
let admin: ApiClient
/** The superadmin's keypair: requests signed with it, and a sign-in made with it. */
let programs: readonly ApiClient[]
let number = 0
/** Id of a token of SCIM. */
let scimToken = ''
/** A user on whom the actions are performed. */
let person: { id: string; email: string }

const PASSWORD = 'Chosen-by-other-1'
const PROVIDER = { id: 'evil', name: 'Evil', issuer: 'https://id.example.org', clientId: 'berth', clientSecret: 'x' }
/** A webhook whose receiver does not exist (RFC 2606). */
const WEBHOOK = { name: 'evil', url: 'https://hooks.invalid/', events: ['session.ended' as const] }

beforeAll(async () => {
  manager = await startTestManager()
  admin = (await manager.signIn()).api
  const keypair = await admin.createKeypair({ body: {} })
  const { accessKey, secretKey } = keypair
  const { token } = await manager.api().loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })
  programs = [signedApi(manager.url, keypair), manager.api(token ?? '')]
  await admin.createDomain({ body: { name: 'lab' } })
  await admin.createSignInProvider({ body: { ...PROVIDER, id: 'lab' } })
  scimToken = (await admin.createScimToken({ body: { name: 'evil' } })).id
})
afterAll(() => manager[Symbol.asyncDispose]())
beforeEach(async () => {
  const email = `deed-${++number}@example.org`
  const { id } = await admin.createUser({ body: { email, name: 'Ann', password: PASSWORD, mustChangePassword: false } })
  person = { id, email }
})

const fresh = () => `made-${++number}@example.org`
const on = () => ({ params: { id: person.id } })
type Act = (api: ApiClient) => Promise<unknown>
/** Bodies that a program may also send are in `MAY`. */
const DEEDS: Partial<Record<RouteName, readonly (readonly [string, Act])[]>> = {
  createUser: (['domain_admin', 'superadmin'] as const).map(role => [
    role,
    api => api.createUser({ body: { email: fresh(), name: 'New', password: PASSWORD, role } }),
  ]),
  importUsers: [['a domain_admin', api => imported(api, 'domain_admin')]],
  updateUser: [
    ['a higher role', api => api.updateUser({ ...on(), body: { role: 'superadmin' } })],
    ['a role of a domain', api => api.updateUser({ ...on(), body: { role: 'domain_admin' } })],
    ['a password', api => api.updateUser({ ...on(), body: { password: PASSWORD } })],
    ['another domain', api => api.updateUser({ ...on(), body: { domain: 'lab' } })],
    ['an admin who comes back', returns('domain_admin')],
    ['a lower role', lowers],
  ],
  createAccountLink: [
    ['a link', api => api.createAccountLink({ ...on(), body: { purpose: 'reset' } })],
    ['a link in hand', api => api.createAccountLink({ ...on(), body: { purpose: 'reset', inHand: true } })],
  ],
  createInvitation: [['an invitation', api => api.createInvitation({ body: { days: 90 } })]],
  resetTotp: [['the second factor', api => api.resetTotp(on())]],
  removeUserIdentities: [['all accounts at providers', api => api.removeUserIdentities(on())]],
  createSignInProvider: [
    ['a provider', api => api.createSignInProvider({ body: { ...PROVIDER, id: `p-${++number}` } })],
  ],
  updateSignInProvider: [
    [
      'a mapping',
      api =>
        api.updateSignInProvider({
          params: { id: 'lab' },
          body: { groupsClaim: 'groups', mapping: [{ group: 'all', role: 'superadmin' }] },
        }),
    ],
  ],
  createScimToken: [['a token of SCIM', api => api.createScimToken({ body: { name: 'evil' } })]],
  deleteScimToken: [['a token of SCIM', api => api.deleteScimToken({ params: { id: scimToken } })]],
  deleteSignInProvider: [['a provider', api => api.deleteSignInProvider({ params: { id: 'lab' } })]],
  updateSettings: [
    ['the address in mailed links', api => api.updateSettings({ body: { publicUrl: 'https://evil.example.org' } })],
    [
      'the mail server',
      api => api.updateSettings({ body: { smtpHost: 'evil.example.org', smtpFrom: 'a@evil.example' } }),
    ],
    ['who signs in with a password', api => api.updateSettings({ body: { passwordSignIn: 'everyone' } })],
  ],
  createWebhook: [['a receiver of events', api => api.createWebhook({ body: WEBHOOK })]],
  updateWebhook: [
    ['another receiver', async api => api.updateWebhook({ ...(await aWebhook()), body: { url: WEBHOOK.url } })],
  ],
  rotateWebhookSecret: [['a secret', async api => api.rotateWebhookSecret(await aWebhook())]],
  resendWebhookDelivery: [
    [
      'an event again',
      async api => {
        const { params } = await aWebhook()
        const { id: deliveryId } = await admin.testWebhook({ params })
        return api.resendWebhookDelivery({ params: { ...params, deliveryId } })
      },
    ],
  ],
  deleteWebhook: [['a webhook', async api => api.deleteWebhook(await aWebhook())]],
}
const MAY: readonly (readonly [string, Act])[] = [
  ['a user', api => api.createUser({ body: { email: fresh(), name: 'New', password: PASSWORD } })],
  ['users of a file', api => imported(api, 'user')],
  ['a name', api => api.updateUser({ ...on(), body: { name: 'Ada', role: 'user', domain: 'default' } })],
  ['a user who comes back', returns('user')],
  ['an announcement', api => api.updateSettings({ body: { announcement: 'Hello' } })],
]

async function aWebhook() {
  const { id } = await admin.createWebhook({ body: { ...WEBHOOK, name: `hook-${++number}` } })
  return { params: { id } }
}
async function imported(api: ApiClient, role: string): Promise<void> {
  const { items } = await api.importUsers({ body: { rows: [{ email: fresh(), role }] } })
  const [item] = items
  if (item?.error) throw Object.assign(new Error(item.error.message), { code: item.error.code })
}
function returns(role: 'user' | 'domain_admin'): Act {
  return async api => {
    await admin.updateUser({ ...on(), body: { role, active: false } })
    await api.updateUser({ ...on(), body: { active: true } })
  }
}
async function enrol(): Promise<void> {
  const { token } = await manager.api().login({ body: { email: person.email, password: PASSWORD, kind: 'token' } })
  const own = manager.api(token ?? '')
  const { secret } = await own.enrolTotp({ body: { password: PASSWORD } })
  await own.confirmTotp({ body: { code: new TOTP({ secret: Secret.fromBase32(secret) }).generate() } })
}
async function lowers(api: ApiClient): Promise<void> {
  await admin.updateUser({ ...on(), body: { role: 'domain_admin' } })
  await api.updateUser({ ...on(), body: { role: 'user' } })
}

const rows = Object.entries(DEEDS).flatMap(([name, deeds]) => deeds.map(([what, act]) => ({ name, what, act })))
const order = (name: string) => (name === 'deleteSignInProvider' ? 1 : 0)

describe('a person does what a keypair does not', () => {
  test.each(rows.toSorted((a, b) => order(a.name) - order(b.name)))('$name: $what', async ({ name, act }) => {
    if (name === 'resetTotp') await enrol()
    for (const program of programs) {
      await expect(act(program)).rejects.toMatchObject({ code: 'forbidden' })
    }
    expect(await codeOf(act(admin))).toBe('ok')
  })

  test.each(MAY)('%s: a keypair does it, too', async (_what, act) => {
    for (const program of programs) expect(await codeOf(act(program))).toBe('ok')
  })
})

/** Names of fields, at any depth, that a schema of a request has. */
function fieldsOf(schema: z.ZodType | undefined): string[] {
  const found: string[] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    found.push(...Object.keys((node as { properties?: object }).properties ?? {}))
    Object.values(node).forEach(walk)
  }
  if (schema) walk(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
  return found
}

test('every route with which an administrator gives a role or a way in has a row', () => {
  const gives = (Object.entries(ROUTES) as [RouteName, RouteSpec][]).filter(
    ([, { access, method, body, byPerson, path }]) =>
      // Deeds of people with their own account are none of an administrator.
      (byPerson && !path.startsWith('/api/v1/me/')) ||
      (['domain_admin', 'superadmin'].includes(access) &&
        method !== 'GET' &&
        fieldsOf(body).some(
          field =>
            ['role', 'mapping', 'purpose', 'smtpHost'].includes(field) ||
            (field === 'password' && !path.startsWith('/api/v1/registries')),
        )),
  )
  expect(gives.map(([name]) => name).toSorted()).toEqual(Object.keys(DEEDS).toSorted())
})
