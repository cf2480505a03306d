import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { BASE } from '../../fixtures/slapd.ts'
import { codeOf, PASSWORD } from './account-steps.ts'
import { DIRECTORY, type LdapWorld, startLdapWorld } from './ldap-steps.ts'
import { PATCH, scimClient } from './scim-steps.ts'

/** People who leave the directory while their sign-ins, tokens and sessions live on: a manager that asks often. */
const EVERY_MS = 20
const CONFIRM_MS = 60
let world: LdapWorld
beforeAll(async () => {
  world = await startLdapWorld({ everyMs: EVERY_MS, confirmMs: CONFIRM_MS })
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(() => world.configure())

const isActive = async (id: string) => (await world.admin.getUser({ params: { id } })).active
const entries = async (action: string) => (await world.admin.listAuditLog({ query: { action } })).items

/** Waits for as many rounds with this warning as would confirm that somebody is missing, and one more. */
async function roundsAfter(warning: string): Promise<void> {
  const count = () => world.warnings().filter(message => message.includes(warning)).length
  const before = count()
  await expect.poll(count).toBeGreaterThan(before + CONFIRM_MS / EVERY_MS + 1)
}

/** People who stay, so that one who leaves is no sign of a wrong filter. */
async function othersWhoStay(): Promise<void> {
  for (let count = 0; count < 5; count++) await world.signIn(await world.person())
}

test('a person who is gone, or switched off, loses sign-ins, and gets the account back when the directory has them again', async () => {
  await othersWhoStay()
  const ada = await world.person({ userAccountControl: 512 })
  const bob = await world.person()
  const [first, second] = [await world.signIn(ada), await world.signIn(bob)]
  await world.slapd.set(ada.dn, 'userAccountControl', '514')
  await expect.poll(() => isActive(first.user.id)).toBe(false)
  expect(await codeOf(world.manager.api(first.token ?? '').me())).toBe('not_signed_in')
  expect(await isActive(second.user.id)).toBe(true)
  expect(await entries('directoryDeparted')).toMatchObject([
    { target: ada.mail, detail: { provider: 'The lab', why: 'switched off', deactivated: true } },
  ])
  await world.slapd.set(ada.dn, 'userAccountControl', '512')
  await expect.poll(() => isActive(first.user.id)).toBe(true)
  expect(await codeOf(world.signIn(ada))).toBe('ok')
  await world.slapd.remove(bob.dn)
  await expect.poll(() => isActive(second.user.id)).toBe(false)
  expect(await codeOf(world.manager.api(second.token ?? '').me())).toBe('not_signed_in')
  expect(await entries('directoryReturned')).toHaveLength(1)
})

test('an account that an administrator has switched off stays so', async () => {
  const ada = await world.person()
  const { user } = await world.signIn(ada)
  await world.admin.updateUser({ params: { id: user.id }, body: { active: false } })
  await world.slapd.remove(ada.dn)
  const bob = await world.person()
  const other = await world.signIn(bob)
  await world.slapd.remove(bob.dn)
  await expect.poll(() => isActive(other.user.id)).toBe(false)
  expect(await isActive(user.id)).toBe(false)
})

/** Switches an account off as a client of SCIM does that writes accounts anew, or changes them. */
async function switchOffByScim(id: string, method: 'PUT' | 'PATCH'): Promise<void> {
  const { token } = await world.admin.createScimToken({ body: { name: `of ${id}`, domain: 'default' } })
  const scim = scimClient(world.manager.url, token)
  const { body } = await scim('GET', `/Users/${id}`)
  const change = { schemas: [PATCH], Operations: [{ op: 'Replace', path: 'active', value: 'False' }] }
  expect((await scim(method, `/Users/${id}`, method === 'PUT' ? { ...body, active: false } : change)).status).toBe(200)
}

test.each([
  ['an administrator', (id: string) => world.admin.updateUser({ params: { id }, body: { active: false } })],
  ['a client of SCIM that writes it anew', (id: string) => switchOffByScim(id, 'PUT')],
  ['a client of SCIM that changes it', (id: string) => switchOffByScim(id, 'PATCH')],
])('an account that %s switches off after the directory has, stays so when its person is back', async (_, off) => {
  await othersWhoStay()
  const [ada, bob] = [await world.person({ userAccountControl: 512 }), await world.person({ userAccountControl: 512 })]
  const [first, second] = [await world.signIn(ada), await world.signIn(bob)]
  for (const { dn } of [ada, bob]) await world.slapd.set(dn, 'userAccountControl', '514')
  for (const { user } of [first, second]) await expect.poll(() => isActive(user.id)).toBe(false)
  await off(first.user.id)
  for (const { dn } of [ada, bob]) await world.slapd.set(dn, 'userAccountControl', '512')
  await expect.poll(() => isActive(second.user.id)).toBe(true)
  expect(await isActive(first.user.id)).toBe(false)
})

test('an account that its owner has linked loses what groups gave, and stays', async () => {
  const ada = await world.person({ mail: 'her-work@example.org' })
  const group = await world.slapd.addGroup('of-departures', [ada.dn])
  const { name: project } = await world.admin.createGroup({ body: { name: 'departures', domain: 'default' } })
  const email = 'departs@example.net'
  const { id, api } = await world.manager.addUser(email)
  const linking = { provider: DIRECTORY, username: ada.uid, directoryPassword: ada.password, password: PASSWORD }
  await api.finishLinking({
    body: await api.proveLinking({ body: linking }).then(({ secret, code }) => ({ secret, code })),
  })
  await world.configure({ mapping: [{ group, projects: [project], role: null }] }, { groups: 'memberOf' })
  const projects = async () => (await world.admin.getUser({ params: { id } })).groups.map(({ name }) => name)
  await world.signIn(ada)
  expect(await projects()).toContain(project)
  await world.slapd.remove(ada.dn)
  await expect.poll(projects).not.toContain(project)
  expect(await isActive(id)).toBe(true)
})

test('a filter that finds nobody, and a directory that is away, deactivate nobody', async () => {
  const ada = await world.person()
  const { user } = await world.signIn(ada)
  await world.configure({}, { userFilter: '(&(uid={username})(cn=nobody))' })
  const off = await world.person()
  await roundsAfter('misses most of its people')
  await world.configure({}, { urls: ['ldaps://127.0.0.1:1'] })
  await roundsAfter('could not be asked')
  await world.configure({}, { base: `ou=nowhere,${BASE}` })
  await roundsAfter('could not be asked')
  await world.configure()
  const left = await world.signIn(off)
  await world.slapd.remove(off.dn)
  await expect.poll(() => isActive(left.user.id)).toBe(false)
  expect(await isActive(user.id)).toBe(true)
})

test('people who left long ago do not hide that somebody leaves', async () => {
  const left = await Promise.all(Array.from({ length: 12 }, () => world.person()))
  const ids = await Promise.all(left.map(async one => (await world.signIn(one)).user.id))
  const areActive = (some: readonly string[]) => Promise.all(some.map(isActive))
  for (let at = 0; at < left.length; at += 3) {
    await Promise.all(left.slice(at, at + 3).map(({ dn }) => world.slapd.remove(dn)))
    await expect.poll(() => areActive(ids.slice(at, at + 3))).toEqual([false, false, false])
  }
  const ada = await world.person()
  const { user } = await world.signIn(ada)
  await world.slapd.remove(ada.dn)
  await expect.poll(() => isActive(user.id)).toBe(false)
})
