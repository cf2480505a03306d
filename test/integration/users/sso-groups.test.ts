import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf } from './account-steps.ts'
import { newPerson, type SsoWorld, startSsoWorld } from './sso-steps.ts'

/** Projects and roles that groups of a provider of OpenID Connect give, and what takes them back. */
let world: SsoWorld
beforeAll(async () => {
  world = await startSsoWorld()
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(async () => {
  world.provider.instead = () => false
  await world.admin.updateSettings({ body: { publicUrl: null } })
  await world.configure()
})

describe('groups of the provider', () => {
  const mapping = [
    { group: 'students', projects: ['course'], role: null },
    { group: 'staff', projects: ['course', 'research', 'nowhere'], role: 'domain_admin' as const },
  ]

  test('give projects and a role, and take back what they gave and nothing else', async () => {
    for (const name of ['course', 'research', 'club']) await world.admin.createGroup({ body: { name } })
    await world.configure({ groupsClaim: 'groups', mapping })
    const person = newPerson()
    const { user, token } = await world.signIn({ ...person, groups: ['staff', 'unknown'] })
    const names = (groups: readonly { name: string }[]) => groups.map(({ name }) => name)
    expect(names(user.groups)).toEqual(['course', 'default', 'research'])
    expect(user.role).toBe('domain_admin')
    const club = (await world.admin.listGroups()).items.find(({ name }) => name === 'club')?.id ?? ''
    await world.admin.addGroupMember({ params: { id: club, userId: user.id } })
    const down = await world.signIn({ ...person, groups: ['students'] })
    expect(names(down.user.groups)).toEqual(['club', 'course', 'default'])
    expect(down.user.role).toBe('user')
    // The sign-in of the higher role has ended.
    expect(await codeOf(world.manager.api(token ?? '').me())).toBe('not_signed_in')
    const { items } = await world.admin.listAuditLog({ query: { actor: person.email } })
    const details = items.filter(({ action }) => action === 'finishSso').map(({ detail }) => detail)
    expect(details).toEqual([
      expect.objectContaining({ projectsRemoved: 'research', roleBefore: 'domain_admin', role: 'user' }),
      expect.objectContaining({
        projectsAdded: 'course, research',
        projectsUnknown: 'nowhere',
        roleBefore: 'user',
        role: 'domain_admin',
      }),
    ])
  })

  test('end what others knew and made when they raise somebody, as an administrator who does it by hand', async () => {
    const person = newPerson()
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'heads', projects: [], role: 'domain_admin' }] })
    const { user, token } = await world.signIn({ ...person, groups: [] })
    const own = await world.manager.api(token ?? '').createKeypair({ body: {} })
    await world.admin.createUserKeypair({ params: { id: user.id }, body: {} })
    const raised = await world.signIn({ ...person, groups: ['heads'] })
    expect(raised.user.role).toBe('domain_admin')
    const { items } = await world.manager.api(raised.token ?? '').listKeypairs({ query: { mine: 'true' } })
    expect(items).toMatchObject([{ accessKey: own.accessKey, active: false }])
  })

  test('make people administrators of the domain of the provider only, wherever their account is', async () => {
    for (const name of ['blue', 'green']) await world.admin.createDomain({ body: { name } })
    const heads = [{ group: 'heads', projects: [], role: 'domain_admin' as const }]
    await world.configure({ groupsClaim: 'groups', mapping: heads })
    const person = { ...newPerson(), groups: ['heads'] }
    const { user } = await world.signIn(person)
    expect(user).toMatchObject({ domain: 'default', role: 'domain_admin' })
    await world.admin.updateUser({ params: { id: user.id }, body: { domain: 'blue', role: 'user' } })
    expect((await world.signIn(person)).user).toMatchObject({ domain: 'blue', role: 'user' })
    const { items } = await world.admin.listAuditLog({ query: { actor: person.email } })
    expect(items.find(({ action }) => action === 'finishSso')?.detail).toMatchObject({
      roleKept: 'mapped for the domain default',
    })
    // A role that the mapping gave in one domain is none of the next one.
    await world.admin.updateUser({ params: { id: user.id }, body: { domain: 'default' } })
    expect((await world.signIn(person)).user.role).toBe('domain_admin')
    await world.admin.updateUser({ params: { id: user.id }, body: { domain: 'green' } })
    expect((await world.signIn(person)).user).toMatchObject({ domain: 'green', role: 'user' })
    // A role that an administrator gave there stays.
    await world.admin.updateUser({ params: { id: user.id }, body: { role: 'domain_admin' } })
    expect((await world.signIn(person)).user).toMatchObject({ domain: 'green', role: 'domain_admin' })
  })

  test('make nobody a superadmin unless the mapping says so, and leave the role that an admin has set', async () => {
    const person = newPerson()
    await world.configure({ groupsClaim: 'groups', mapping: [{ group: 'root', projects: [], role: 'superadmin' }] })
    const { user } = await world.signIn({ ...person, groups: ['superadmin', 'admins'] })
    expect(user.role).toBe('user')
    await world.admin.updateUser({ params: { id: user.id }, body: { role: 'domain_admin' } })
    expect((await world.signIn({ ...person, groups: [] })).user.role).toBe('domain_admin')
    expect((await world.signIn({ ...person, groups: ['root'] })).user.role).toBe('superadmin')
    expect((await world.signIn({ ...person, groups: [] })).user.role).toBe('domain_admin')
  })
})
