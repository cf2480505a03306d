import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, signRequest } from '#manager/contract'
import { type HeldAnswer, heldRequest } from '../../fixtures/held-request.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

/** Requests with delayed bodies, while the rights of their sender end. */

let manager: TestManager
let admin: ApiClient
let victim: string
beforeAll(async () => {
  manager = await startTestManager()
  admin = (await manager.signIn()).api
  victim = (await manager.addUser('victim@example.org')).id
})
afterAll(() => manager[Symbol.asyncDispose]())

interface Attacker {
  readonly id: string
  readonly token: string
  readonly api: ApiClient
}

let count = 0
const newAttacker = (): Promise<Attacker> => manager.addUser(`attacker${++count}@example.org`, 'superadmin')

interface Deed {
  readonly method: string
  readonly path: string
  readonly body: object
}

const comeBack = (id: string): Deed => ({
  method: 'PATCH',
  path: `/api/v1/users/${id}`,
  body: { active: true, role: 'superadmin' },
})
const DEEDS: readonly Deed[] = [
  {
    method: 'PATCH',
    path: '/api/v1/users/VICTIM',
    body: { password: 'Known-to-attackers-1' },
  },
  { method: 'POST', path: '/api/v1/users/VICTIM/links', body: { purpose: 'reset', inHand: true } },
  { method: 'PATCH', path: '/api/v1/settings', body: { allowSignUp: 'open' } },
  { method: 'POST', path: '/api/v1/agents/join-tokens', body: { resourceGroup: 'default' } },
  { method: 'POST', path: '/api/v1/invitations', body: {} },
  { method: 'PUT', path: '/api/v1/me/bootstrap-script', body: { script: 'echo back' } },
]
const newSuperadmin = (): Deed => ({
  method: 'POST',
  path: '/api/v1/users',
  body: {
    email: `made-${randomUUID()}@example.org`,
    name: 'made',
    password: 'Their-own-pass-1',
    role: 'superadmin',
    mustChangePassword: false,
  },
})

type Headers = Readonly<Record<string, string>>

/** Sends the heads of requests with one byte of their bodies, calls `end`, and sends the rest. */
async function holdBack(
  deeds: readonly Deed[],
  headersOf: (deed: { method: string; url: string; body: string }) => Promise<Headers> | Headers,
  end: () => Promise<unknown>,
): Promise<HeldAnswer[]> {
  using stack = new DisposableStack()
  const held = await Promise.all(
    deeds.map(async ({ method, path, body: fields }) => {
      const url = `${manager.url}${path.replace('VICTIM', victim)}`
      const body = JSON.stringify(fields)
      const headers = { 'content-type': 'application/json', ...(await headersOf({ method, url, body })) }
      const request = stack.use(heldRequest(url, { method, headers, length: body.length }))
      await request.begun
      request.send(body.slice(0, 1))
      return { request, rest: body.slice(1) }
    }),
  )
  await end()
  for (const { request, rest } of held) request.send(rest)
  return await Promise.all(held.map(({ request }) => request.answer))
}

const superadmins = async () => (await admin.listUsers({ query: { role: 'superadmin', limit: 100 } })).total

describe('a request whose body comes after the end of its sign-in is refused', () => {
  test.each<[string, (attacker: Attacker) => Promise<unknown>]>([
    ['deactivated', ({ id }) => admin.updateUser({ params: { id }, body: { active: false } })],
    ['made a user', ({ id }) => admin.updateUser({ params: { id }, body: { role: 'user' } })],
    ['signed out by a superadmin', ({ id }) => admin.endUserLogins({ params: { id } })],
    ['signed out', ({ api }) => api.logout()],
  ])('where the account is %s', async (_what, end) => {
    const attacker = await newAttacker()
    await attacker.api.me()
    const deeds = [newSuperadmin(), comeBack(attacker.id), ...DEEDS]
    let before = 0
    const answers = await holdBack(
      deeds,
      () => ({ authorization: `Bearer ${attacker.token}` }),
      async () => {
        await end(attacker)
        before = await superadmins()
      },
    )
    expect(answers.map(({ status }, index) => [deeds[index]?.path, status])).toEqual(
      deeds.map(({ path }) => [path, 401]),
    )
    expect(await superadmins()).toBe(before)
    // A refusal by the head alone would name no actor.
    const { items } = await admin.listAuditLog({ query: { actor: attacker.id, limit: 100 } })
    expect(items.filter(({ result }) => result === 'not_signed_in')).toHaveLength(deeds.length)
  })
})

describe('a signed request whose body comes after the end of its rights is refused', () => {
  test.each<[string, string, (attacker: Attacker, accessKey: string) => Promise<unknown>]>([
    [
      'the keypair is deactivated',
      'keypair_inactive',
      (_attacker, accessKey) => admin.updateKeypair({ params: { accessKey }, body: { active: false } }),
    ],
    [
      'the keypair is deleted',
      'signature_invalid',
      ({ api }, accessKey) => api.deleteKeypair({ params: { accessKey } }),
    ],
    [
      'the account is deactivated',
      'user_inactive',
      ({ id }) => admin.updateUser({ params: { id }, body: { active: false } }),
    ],
    [
      'the account is made a user',
      'forbidden',
      ({ id }) => admin.updateUser({ params: { id }, body: { role: 'user' } }),
    ],
  ])('where %s', async (_what, code, end) => {
    const attacker = await newAttacker()
    const pair = await attacker.api.createKeypair({ body: {} })
    const deeds = DEEDS.filter(({ path }) => /settings|join-tokens/.test(path))
    const answers = await holdBack(
      deeds,
      request => signRequest(request, pair),
      () => end(attacker, pair.accessKey),
    )
    expect(answers.map(({ text }) => /"code":"(\w+)"/.exec(text)?.[1] ?? text)).toEqual(deeds.map(() => code))
  })
})

describe('a request of SCIM whose body comes after the end of its token is refused', () => {
  test.each<[string, (attacker: Attacker, tokenId: string) => Promise<unknown>]>([
    ['the maker is deactivated', ({ id }) => admin.updateUser({ params: { id }, body: { active: false } })],
    ['the maker is made a user', ({ id }) => admin.updateUser({ params: { id }, body: { role: 'user' } })],
    ['the token is deleted', (_attacker, id) => admin.deleteScimToken({ params: { id } })],
  ])('where %s', async (_what, end) => {
    const attacker = await manager.addUser(`attacker${++count}@example.org`, 'domain_admin')
    const { id: tokenId, token } = await attacker.api.createScimToken({ body: { name: 'held' } })
    const userName = `made-${randomUUID()}@example.org`
    const deeds: Deed[] = [
      { method: 'POST', path: '/scim/v2/Users', body: { userName } },
      { method: 'PATCH', path: `/scim/v2/Users/${attacker.id}`, body: activation },
      { method: 'POST', path: '/scim/v2/Groups', body: { displayName: `made-${randomUUID()}` } },
    ]
    const answers = await holdBack(
      deeds,
      () => ({ authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' }),
      () => end(attacker, tokenId),
    )
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401])
    const { items } = await admin.listUsers({ query: { search: userName, limit: 10 } })
    expect(items).toEqual([])
  })

  const activation = {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: [{ op: 'replace', path: 'active', value: true }],
  }
})

test('a request whose body comes late is answered as any other while its sender may send it', async () => {
  const attacker = await newAttacker()
  const pair = await attacker.api.createKeypair({ body: {} })
  const bearer = await holdBack(
    [newSuperadmin(), ...DEEDS.slice(1)],
    () => ({ authorization: `Bearer ${attacker.token}` }),
    () => attacker.api.me(),
  )
  expect(bearer.map(({ status }) => status)).toEqual([201, 201, 200, 201, 201, 200])
  const signed = await holdBack(
    DEEDS.filter(({ path }) => path.endsWith('/join-tokens')),
    request => signRequest(request, pair),
    () => attacker.api.me(),
  )
  expect(signed.map(({ status }) => status)).toEqual([201])
})
