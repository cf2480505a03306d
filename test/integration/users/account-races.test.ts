import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { DEFAULT_DOMAIN, type Role, SYSTEM_SETTINGS_DEFAULTS, UserId } from '#manager/contract'
import { type Mailer } from '../../../manager/mail/mailer.ts'
import { createSecretBox, toMasterKey } from '../../../manager/secrets/secret-box.ts'
import { silentLog } from '../../../manager/log.ts'
import { type Settings } from '../../../manager/settings/settings.ts'
import { updateDomain } from '../../../manager/store/identity/domains.ts'
import { addMembers, listGroupIds } from '../../../manager/store/identity/groups.ts'
import { deactivateKeypairs } from '../../../manager/store/identity/keypairs.ts'
import { deleteLogins, insertLogin } from '../../../manager/store/identity/logins.ts'
import { newId, newUuid } from '../../../manager/store/new-id.ts'
import { insertIdentity, noteGiven } from '../../../manager/store/identity/sign-in-identities.ts'
import {
  findUser,
  findUserByEmail,
  insertUser,
  lockUser,
  updateUser,
  type UserUpdate,
} from '../../../manager/store/identity/users.ts'
import { type Caller } from '../../../manager/users/authorize.ts'
import { createKeypairs } from '../../../manager/users/keypairs.ts'
import { createLogins } from '../../../manager/users/logins.ts'
import { createPasswordResets } from '../../../manager/users/password-reset.ts'
import { type Passwords } from '../../../manager/users/passwords.ts'
import { createAccountNotifier } from '../../../manager/users/account-notifier.ts'
import { createUserImports } from '../../../manager/users/user-import.ts'
import { createUsers } from '../../../manager/users/users.ts'
import { openTestStore, type TestStore } from '../../fixtures/test-store.ts'

/** Decisions on an account use its state at the time of the change, not at the time of the check. */

let db: TestStore['store']['db']
let world: TestStore
/** Runs while a password is being checked, which takes a while. */
let meanwhile: () => Promise<unknown>
/** Runs while a password is being hashed, which takes a while. */
let whileHashing: () => Promise<unknown>
beforeAll(async () => {
  world = await openTestStore()
  db = world.store.db
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(() => {
  meanwhile = () => Promise.resolve()
  whileHashing = () => Promise.resolve()
})

/** Every password is right. */
const passwords: Passwords = {
  hash: async password => {
    await whileHashing()
    return `hash of ${password}`
  },
  verify: async () => {
    await meanwhile()
    return true
  },
}
const settings = { read: () => Promise.resolve(SYSTEM_SETTINGS_DEFAULTS) } as unknown as Settings
const nobody = () => undefined

async function services() {
  const { store } = world
  const secondFactor = { check: () => Promise.resolve(false) }
  const mailer = { post: nobody } as unknown as Mailer
  const box = createSecretBox([toMasterKey(randomBytes(32))])
  const events = { publish: nobody, publishStats: nobody }
  const notifier = createAccountNotifier({ store, settings, mailer, events })
  const left: UserId[] = []
  const onMembersLeft = (ids: readonly UserId[]) => void left.push(...ids)
  const logins = createLogins({ store, passwords, secondFactor, notifier, log: silentLog, onMembersLeft })
  const { id, email } = await somebody('user')
  return {
    id,
    email,
    logins,
    left,
    users: createUsers({ store, passwords, logins, settings, mailer, notifier, events }),
    resets: createPasswordResets({ store, passwords, logins, settings, mailer, notifier }),
    imports: createUserImports({ store, passwords, settings, mailer, events, notifier }),
    keypairs: createKeypairs({ store, box, passwords, secondFactor, notifier, onEnd: nobody }),
    [Symbol.dispose]: () => logins[Symbol.dispose](),
  }
}

async function somebody(role: Role) {
  const id = newId(UserId)
  const email = `${id}@example.org`
  await insertUser(db, { id, email, name: 'Ada', role, password_hash: 'the first', domain: DEFAULT_DOMAIN })
  return { id, email }
}

async function callerOf(role: Role): Promise<Caller> {
  const { id: userId, email } = await somebody(role)
  const loginId = newUuid()
  const login = { id: loginId, userId, tokenHash: randomBytes(32), label: null, address: '::1', keypair: null }
  await insertLogin(db, { ...login, kind: 'token', idleSeconds: 3_600, maxSeconds: 3_600 })
  return { userId, email, role, domain: DEFAULT_DOMAIN, loginId, keypair: null, scopes: null }
}

const loginsOf = async (id: UserId) =>
  (await db.selectFrom('logins').select('id').where('user_id', '=', id).execute()).length

test.each<[string, UserUpdate]>([
  ['has another password', { password_hash: 'the second' }],
  ['is deactivated', { active: false }],
])('a sign-in fails if the account %s while its password was checked', async (_what, change) => {
  using made = await services()
  meanwhile = () => updateUser(db, made.id, change)
  const signIn = made.logins.signIn({ email: made.email, password: 'the first', kind: 'token', address: '::1' })
  await expect(signIn).rejects.toMatchObject({ code: 'login_failed' })
  expect(await loginsOf(made.id)).toBe(0)
})

test('a sign-in fails if the domain is deactivated while the password is checked', async () => {
  using made = await services()
  meanwhile = () => updateDomain(db, DEFAULT_DOMAIN, { active: false })
  const signIn = made.logins.signIn({ email: made.email, password: 'the first', kind: 'token', address: '::1' })
  await expect(signIn).rejects.toMatchObject({ code: 'domain_inactive' })
  expect(await loginsOf(made.id)).toBe(0)
  await updateDomain(db, DEFAULT_DOMAIN, { active: true })
})

test('a sign-in that begins during a change of the password waits, and is refused', async () => {
  using made = await services()
  const checked = Promise.withResolvers<undefined>()
  meanwhile = () => {
    checked.resolve(undefined)
    return Promise.resolve()
  }
  const changing = world.store.transaction(async trx => {
    await lockUser(trx, made.id)
    const signIn = made.logins.signIn({ email: made.email, password: 'the first', kind: 'token', address: '::1' })
    await checked.promise
    await updateUser(trx, made.id, { password_hash: 'the second' })
    return { signIn }
  })
  await expect((await changing).signIn).rejects.toMatchObject({ code: 'login_failed' })
  expect(await loginsOf(made.id)).toBe(0)
})

test('a caller with only the old password cannot replace a password that was set meanwhile', async () => {
  using made = await services()
  const caller = { userId: made.id, email: made.email, role: 'user', domain: DEFAULT_DOMAIN } as const
  meanwhile = () => updateUser(db, made.id, { password_hash: 'of the admin' })
  const request = { oldPassword: 'the first', newPassword: 'Brand-new-pass-2' }
  const change = made.users.changePassword({ ...caller, loginId: null, keypair: null, scopes: null }, request)
  await expect(change).rejects.toMatchObject({ code: 'login_failed' })
  expect((await findUser(db, made.id))?.password_hash).toBe('of the admin')
})

test('a password changes only together with the end of the sign-ins that used the old one', async () => {
  using made = await services()
  const admin = await callerOf('superadmin')
  await made.logins.signIn({ email: made.email, password: 'the first', kind: 'token', address: '::1' })
  await sql`create function keep_logins() returns trigger language plpgsql as
    $$ begin raise exception 'killed here'; end $$`.execute(db)
  await sql`create trigger keep_logins before delete on logins execute function keep_logins()`.execute(db)
  try {
    const own = { userId: made.id, email: made.email, role: 'user', domain: DEFAULT_DOMAIN } as const
    const [oldPassword, newPassword] = ['the first', 'Brand-new-pass-2']
    const request = { oldPassword, newPassword }
    await expect(made.users.change(admin, made.id, { password: newPassword }, 'http://l')).rejects.toThrow(
      'killed here',
    )
    await expect(
      made.users.changePassword({ ...own, loginId: null, keypair: null, scopes: null }, request),
    ).rejects.toThrow('killed')
    expect((await findUser(db, made.id))?.password_hash).toBe('the first')
  } finally {
    await sql`drop trigger keep_logins on logins`.execute(db)
  }
})

test.each<[string, (made: Awaited<ReturnType<typeof services>>, admin: Caller, key: string) => Promise<unknown>]>([
  ['link', ({ resets, id }, admin) => resets.createLink(admin, { userId: id, purpose: 'reset', origin: 'http://l' })],
  ['keypair', ({ keypairs, id }, admin) => keypairs.createFor(admin, id, {})],
  ['change of a keypair', ({ keypairs }, admin, key) => keypairs.change(admin, key, { active: false })],
])('an admin of a domain gets no %s of a user who is becoming a superadmin', async (_what, act) => {
  using made = await services()
  const admin = await callerOf('domain_admin')
  const { accessKey } = await made.keypairs.createFor(admin, made.id, {})
  const asked = Promise.withResolvers<{ outcome: Promise<unknown> }>()
  await world.store.transaction(async trx => {
    await lockUser(trx, made.id)
    await updateUser(trx, made.id, { role: 'superadmin' })
    await deactivateKeypairs(trx, made.id)
    const outcome = act(made, admin, accessKey)
    outcome.catch(nobody)
    asked.resolve({ outcome })
    await expect.poll(waiting).toBeGreaterThan(0)
  })
  const { outcome } = await asked.promise
  await expect(outcome).rejects.toMatchObject({ code: expect.stringMatching(/^(user|keypair)_not_found$/) as string })
  const active = db
    .selectFrom('keypairs')
    .select('access_key')
    .where('user_id', '=', made.id)
    .where('active', '=', true)
  expect(await active.execute()).toEqual([])
})

test.each<[string, (made: Awaited<ReturnType<typeof services>>, admin: Caller) => Promise<unknown>]>([
  [
    'a new superadmin',
    ({ users, id }, admin) => {
      const spec = { email: `new-${id}@example.org`, name: 'new', role: 'superadmin' } as const
      return users.create(admin, { ...spec, description: '', password: 'Brand-new-pass-2', mustChangePassword: false })
    },
  ],
  ['a role', ({ users, id }, admin) => users.change(admin, id, { role: 'superadmin' }, 'http://l')],
  ['a password', ({ users, id }, admin) => users.change(admin, id, { password: 'Brand-new-pass-2' }, 'http://l')],
  [
    'a file of users',
    ({ imports, id }, admin) =>
      imports.run(admin, { rows: [{ email: `new-${id}@example.org` }], dryRun: false, mail: false }, 'http://l'),
  ],
])('a caller who is signed out while a password is being hashed gives nobody %s', async (_what, act) => {
  using made = await services()
  const admin = await callerOf('superadmin')
  const before = await findUser(db, made.id)
  whileHashing = () => deleteLogins(db, { userId: admin.userId })
  await expect(act(made, admin)).rejects.toMatchObject({ code: 'not_signed_in' })
  expect(await findUser(db, made.id)).toEqual(before)
  expect(await findUserByEmail(db, `new-${made.id}@example.org`)).toBeUndefined()
})

test.each<[string, (made: Awaited<ReturnType<typeof services>>) => Promise<unknown>]>([
  [
    'a sign-in with another password',
    ({ logins, email }) =>
      logins.signIn({ email, password: 'the first', newPassword: 'Brand-new-pass-2', kind: 'token', address: '::1' }),
  ],
  [
    'a choice of the person',
    ({ users, id, email }) => {
      const caller = {
        userId: id,
        email,
        role: 'user',
        domain: DEFAULT_DOMAIN,
        loginId: null,
        keypair: null,
        scopes: null,
      } as const
      return users.changePassword(caller, { oldPassword: 'the first', newPassword: 'Brand-new-pass-2' })
    },
  ],
])(
  'sessions of a project are looked at again when a doubt ends by %s and takes the project back',
  async (_what, act) => {
    using made = await services()
    const group = (await db.selectFrom('groups').select('id').executeTakeFirstOrThrow()).id
    await addMembers(db, [group], made.id)
    await updateUser(db, made.id, {
      password_hash: 'the first',
      password_from: 'superadmin',
      must_change_password: true,
    })
    const linked = { issuer: 'https://id.example.org', subject: made.id }
    await insertIdentity(db, { ...linked, userId: made.id, email: made.email, doubtful: true })
    await noteGiven(db, linked, { givenGroups: [group], givenRole: null, roleBefore: null })
    await act(made)
    expect(await listGroupIds(db, made.id)).toEqual([])
    expect(made.left).toEqual([made.id])
  },
)

/** Statements that wait for the lock of another transaction. */
async function waiting(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity where wait_event_type = 'Lock'`.execute(db)
  return rows[0]?.count ?? 0
}
