import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DEFAULT_DOMAIN, GroupId, SignInProviderSettings, SYSTEM_SETTINGS_DEFAULTS, UserId } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { startWithdrawals } from '../../../manager/sso/withdraw.ts'
import { addMembers } from '../../../manager/store/identity/groups.ts'
import { insertIdentity, noteGiven } from '../../../manager/store/identity/sign-in-identities.ts'
import {
  deleteSignInProvider,
  findSignInProvider,
  insertSignInProvider,
  updateSignInProvider,
} from '../../../manager/store/identity/sign-in-providers.ts'
import { insertUser, lockSuperadmins } from '../../../manager/store/identity/users.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type TakenBack } from '../../../manager/users/take-back.ts'
import { openTestStore, type TestStore } from '../../fixtures/test-store.ts'

/** Rights that a mapping gave to many people are taken back a few at a time; after a stop in the middle, the next process continues. */
const PROVIDER = 'lab'
const ISSUER = 'https://id.example.org'
const MANY = 130

let world: TestStore
let secret: GroupId
beforeEach(async () => {
  world = await openTestStore()
  secret = newId(GroupId)
  await world.store.db
    .insertInto('groups')
    .values({ id: secret, name: 'secret', domain: DEFAULT_DOMAIN, description: '' })
    .execute()
  await insertSignInProvider(world.store.db, PROVIDER, { settings: settingsWith(['secret']), sealedSecret: null })
})
afterEach(() => world[Symbol.asyncDispose]())

const settingsWith = (projects: readonly string[]) =>
  SignInProviderSettings.parse({
    ...{ name: 'The lab', issuer: ISSUER, clientId: 'berth', groupsClaim: 'groups', domain: DEFAULT_DOMAIN },
    mapping: projects.length === 0 ? [] : [{ group: 'team', projects: [...projects], role: null }],
  })

/** People to whom this version of the mapping gave the project. */
async function people(count: number, version = 1): Promise<UserId[]> {
  const ids = Array.from({ length: count }, () => newId(UserId))
  await world.store.transaction(async trx => {
    for (const id of ids) {
      const email = `${id}@example.org`
      await insertUser(trx, { id, email, name: 'Ada', role: 'user', password_hash: 'none', domain: DEFAULT_DOMAIN })
      await addMembers(trx, [secret], id)
      const linked = { issuer: ISSUER, subject: id }
      await insertIdentity(trx, { ...linked, userId: id, email })
      const givenBy = { provider: PROVIDER, version }
      await noteGiven(trx, linked, { givenGroups: [secret], givenRole: null, roleBefore: null, givenBy })
    }
  })
  return ids
}

/** Changes the mapping, and stops before anything is taken back. */
async function change(projects: readonly string[]) {
  const settings = settingsWith(projects)
  await updateSignInProvider(world.store.db, PROVIDER, { settings, sealedSecret: null, changesMapping: true })
}

async function members(): Promise<number> {
  const { rows } = await sql`select from group_members where group_id = ${secret}`.execute(world.store.db)
  return rows.length
}

function start(onTaken: (taken: TakenBack) => Promise<void> = () => Promise.resolve()) {
  const notifier = { write: () => Promise.resolve(), announce: () => Promise.resolve() }
  const settings = { read: () => Promise.resolve(SYSTEM_SETTINGS_DEFAULTS) } as never
  return startWithdrawals({ store: world.store, settings, notifier, onTaken, log: silentLog })
}

test('many people lose a project a few at a time, and changes of accounts get their turn in between', async () => {
  const ids = await people(MANY)
  await using withdrawals = start()
  await withdrawals.catchUp()
  expect(await members()).toBe(MANY)
  await change([])
  const over = new AbortController()
  const seen = new Set<number>()
  const looking = (async () => {
    while (!over.signal.aborted) {
      await world.store.transaction(async trx => {
        await lockSuperadmins(trx)
        seen.add(await members())
      })
    }
  })()
  await withdrawals.catchUp()
  over.abort()
  await looking
  expect(await members()).toBe(0)
  expect([...seen].filter(count => count > 0 && count < MANY).length).toBeGreaterThan(2)
  const { rows } = await sql`select from users where id = any(${ids}) and version > 1`.execute(world.store.db)
  expect(rows).toHaveLength(MANY)
})

test('a process that stops in the middle leaves the rest to the next one; who has it by the new mapping keeps it', async () => {
  await people(60)
  await change([])
  const taken: string[] = []
  {
    await using withdrawals = start(({ user }) => {
      taken.push(user.id)
      // The rest of this batch is announced, and no further one begins.
      if (taken.length === 1) void withdrawals[Symbol.asyncDispose]()
      return Promise.resolve()
    })
    await expect.poll(() => taken.length).toBeGreaterThan(0)
  }
  const left = await members()
  expect(left).toBeGreaterThan(0)
  expect(left).toBe(60 - taken.length)
  await change(['secret'])
  await using next = start()
  await next.catchUp()
  expect(await members()).toBe(left)
  await change([])
  await next.catchUp()
  expect(await members()).toBe(0)
})

test('a sign-in that began before the change is judged again', async () => {
  await change([])
  await using withdrawals = start()
  await withdrawals.catchUp()
  await people(1, 1)
  await withdrawals.catchUp()
  expect(await members()).toBe(0)
})

test('a provider that is made again with the id of one that is gone gives nothing of what that one gave', async () => {
  await people(3)
  await deleteSignInProvider(world.store.db, PROVIDER)
  await insertSignInProvider(world.store.db, PROVIDER, { settings: settingsWith([]), sealedSecret: null })
  expect((await findSignInProvider(world.store.db, PROVIDER))?.mapping_version).toBe(2)
  await using withdrawals = start()
  await withdrawals.catchUp()
  expect(await members()).toBe(0)
})

test('a failure to tell somebody keeps nobody else from losing it, and what was begun goes on', async () => {
  await people(40)
  await deleteSignInProvider(world.store.db, PROVIDER)
  await using withdrawals = start(() => Promise.reject(new Error('not told')))
  await withdrawals.catchUp()
  expect(await members()).toBe(0)
})
