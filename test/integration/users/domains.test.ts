import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, type Group, type User, UserId } from '#manager/contract'
import { createCli, loginCommand } from '../../fixtures/cli.ts'
import { ADMIN, startTestManager, type TestManager } from '../../fixtures/manager.ts'

const PASSWORD = 'Their-own-pass-1'

describe('domains, groups and users', () => {
  let manager: TestManager
  let admin: ApiClient
  beforeAll(async () => {
    manager = await startTestManager()
    admin = (await manager.signIn()).api
  })
  afterAll(() => manager[Symbol.asyncDispose]())

  const makeUser = (email: string, more: Partial<Parameters<ApiClient['createUser']>[0]['body']> = {}): Promise<User> =>
    admin.createUser({ body: { mustChangePassword: false, email, name: email, password: PASSWORD, ...more } })
  const signIn = async (email: string) => (await manager.signIn({ email, password: PASSWORD })).api
  const groupNames = (user: User) => user.groups.map(group => group.name)
  async function groupOf(domain: string, name = 'default'): Promise<Group> {
    const group = (await admin.listGroups({ query: { domain } })).items.find(one => one.name === name)
    if (!group) throw new Error(`no group ${name}`)
    return group
  }

  describe('domains', () => {
    test('a new domain has a group named default, exact limits, and keeps its registries', async () => {
      const limits = { cpu: '0.3', mem: '4g', 'cuda.device': '0', 'cuda.shares': '1.05' }
      const made = await admin.createDomain({ body: { name: 'Lab.A', limits, allowedRegistries: ['docker.io'] } })
      expect(made).toMatchObject({
        name: 'Lab.A',
        active: true,
        limits: { cpu: '0.3', mem: String(4 * 2 ** 30), 'cuda.device': '0', 'cuda.shares': '1.05' },
        allowedRegistries: ['docker.io'],
        version: 1,
      })
      expect(await groupOf('Lab.A')).toMatchObject({ name: 'default', members: 0, limits: {}, active: true })
      const changed = await admin.updateDomain({
        params: { name: 'Lab.A' },
        body: { description: 'ours', limits: { cpu: '8' }, allowedRegistries: null },
      })
      expect(changed).toMatchObject({ description: 'ours', limits: { cpu: '8' }, allowedRegistries: null, version: 2 })
      const again = await admin.updateDomain({ params: { name: 'Lab.A' }, body: {} })
      expect(again).toMatchObject({ description: 'ours', limits: { cpu: '8' } })
    })

    test('names are unique in any letter case, also for two requests at the same time; some names are refused', async () => {
      const create = (name: string) => admin.createDomain({ body: { name } })
      const outcomes = await Promise.allSettled([create('twins'), create('TWINS'), create('Twins')])
      expect(outcomes.filter(outcome => outcome.status === 'fulfilled')).toHaveLength(1)
      await expect(create('tWins')).rejects.toMatchObject({ code: 'domain_exists' })
      const groups = (await admin.listGroups()).items.filter(group => group.domain.toLowerCase() === 'twins')
      expect(groups).toHaveLength(1)
      for (const name of ['', '-a', 'a-', 'a b', 'a/b', 'ä', 'x'.repeat(65)]) {
        await expect(create(name)).rejects.toMatchObject({ code: 'bad_request' })
      }
      const unknown = admin.updateDomain({ params: { name: 'nowhere' }, body: {} })
      await expect(unknown).rejects.toMatchObject({ code: 'domain_not_found' })
    })

    test('users of an inactive domain are signed out and refused until it is active again', async () => {
      await admin.createDomain({ body: { name: 'closing' } })
      await makeUser('closing@example.org', { domain: 'closing' })
      const user = await signIn('closing@example.org')
      const outsider = await manager.addUser('outside@example.org')
      const setActive = (active: boolean) => admin.updateDomain({ params: { name: 'closing' }, body: { active } })
      await setActive(false)
      await expect(user.me()).rejects.toMatchObject({ code: 'not_signed_in' })
      await expect(signIn('closing@example.org')).rejects.toMatchObject({ code: 'domain_inactive' })
      const wrong = manager.signIn({ email: 'closing@example.org', password: 'not-this-1' })
      await expect(wrong).rejects.toMatchObject({ code: 'login_failed' })
      expect((await outsider.api.me()).user.domain).toBe('default')
      await setActive(true)
      expect((await (await signIn('closing@example.org')).me()).user.domain).toBe('closing')
    })

    test("the last superadmin's domain and the own domain cannot be deactivated", async () => {
      const deactivate = (api: ApiClient, name: string) =>
        api.updateDomain({ params: { name }, body: { active: false } })
      await expect(deactivate(admin, 'default')).rejects.toMatchObject({ code: 'last_superadmin' })
      await admin.createDomain({ body: { name: 'other-admins' } })
      await makeUser('elsewhere@example.org', { domain: 'other-admins', role: 'superadmin' })
      await expect(deactivate(admin, 'default')).rejects.toMatchObject({ code: 'forbidden' })
      expect((await admin.me()).user.email).toBe(ADMIN.email)
      await deactivate(admin, 'other-admins')
    })
  })

  describe('groups', () => {
    beforeAll(async () => {
      for (const name of ['red', 'blue']) await admin.createDomain({ body: { name } })
      await makeUser('red-admin@example.org', { domain: 'red', role: 'domain_admin' })
    })

    test('the admin of a domain creates and changes its groups; groups of other domains do not exist', async () => {
      const api = await signIn('red-admin@example.org')
      const made = await api.createGroup({ body: { name: 'Vision', limits: { 'cuda.shares': '0.25' } } })
      expect(made).toMatchObject({ domain: 'red', name: 'Vision', limits: { 'cuda.shares': '0.25' }, members: 0 })
      const change = { name: 'vision', description: 'seeing', limits: {} }
      const changed = await api.updateGroup({ params: { id: made.id }, body: change })
      expect(changed).toMatchObject({ name: 'vision', description: 'seeing', limits: {}, version: 2 })
      await expect(api.createGroup({ body: { name: 'x', domain: 'blue' } })).rejects.toMatchObject({
        code: 'domain_not_found',
      })
      const { id } = await groupOf('blue')
      await expect(api.updateGroup({ params: { id }, body: {} })).rejects.toMatchObject({ code: 'group_not_found' })
      expect(new Set((await api.listGroups()).items.map(group => group.domain))).toEqual(new Set(['red']))
      expect((await api.listDomains()).items.map(domain => domain.name)).toEqual(['red'])
    })

    test('a name is unique in its domain, also for two requests at the same time and for renaming', async () => {
      const create = (name: string, domain = 'red') => admin.createGroup({ body: { name, domain } })
      const outcomes = await Promise.allSettled([create('speech'), create('SPEECH')])
      expect(outcomes.map(outcome => outcome.status).toSorted()).toEqual(['fulfilled', 'rejected'])
      await expect(create('Speech')).rejects.toMatchObject({ code: 'group_exists' })
      expect(await create('speech', 'blue')).toMatchObject({ domain: 'blue' })
      const { id } = await create('language')
      const rename = admin.updateGroup({ params: { id }, body: { name: 'Speech' } })
      await expect(rename).rejects.toMatchObject({ code: 'group_exists' })
      await expect(create(id)).rejects.toMatchObject({ code: 'bad_request' })
    })

    test('lists of groups are searched, filtered, sorted and paged by the server, within what the caller may see', async () => {
      for (const name of ['green', 'amber']) await admin.createDomain({ body: { name } })
      const make = (name: string, domain = 'green', description = '') =>
        admin.createGroup({ body: { name, domain, description } })
      const made = [await make('Pages-b'), await make('pages-a', 'green', 'Ores and'), await make('pages-c')]
      await make('pages-far', 'amber')
      await admin.updateGroup({ params: { id: made[2]?.id as Group['id'] }, body: { active: false } })
      const { id: userId } = await makeUser('paged@example.org', { domain: 'green' })
      await admin.addGroupMember({ params: { id: made[0]?.id as Group['id'], userId } })
      await makeUser('green-admin@example.org', { domain: 'green', role: 'domain_admin' })

      type Query = NonNullable<NonNullable<Parameters<typeof admin.listGroups>[0]>['query']>
      const ask = async (query: Query, api = admin) => {
        const { items, total, nextCursor } = await api.listGroups({ query: { search: 'PAGES-', ...query } })
        return { names: items.map(({ name }) => name), total, nextCursor }
      }
      const inOrder = ['pages-far', 'pages-a', 'Pages-b', 'pages-c']
      expect(await ask({})).toEqual({ names: inOrder, total: 4, nextCursor: null })
      expect(await ask({ sort: '-domain' })).toMatchObject({ names: inOrder.toReversed() })
      const first = await ask({ sort: 'name', limit: 3 })
      expect(first).toMatchObject({ names: ['pages-a', 'Pages-b', 'pages-c'], total: 4 })
      const rest = await ask({ sort: 'name', limit: 3, cursor: first.nextCursor ?? '' })
      expect(rest).toEqual({ names: ['pages-far'], total: 4, nextCursor: null })
      // Paging also works for equal values, in both directions.
      for (const sort of ['members', '-members', 'state', '-state'] as const) {
        const seen: string[] = []
        for (let cursor: string | undefined; seen.length < 4;) {
          const page = await ask({ sort, limit: 1, ...(cursor && { cursor }) })
          seen.push(...page.names)
          cursor = page.nextCursor ?? undefined
        }
        const last = { members: 'Pages-b', '-members': 'pages-a', state: 'pages-c', '-state': 'pages-a' }[sort]
        expect(seen.toSorted()).toEqual(inOrder.toSorted())
        expect(seen.at(-1)).toBe(last)
      }
      expect(await ask({ active: 'false' })).toMatchObject({ names: ['pages-c'], total: 1 })
      expect(await ask({ search: 'green/PAGES-A' })).toMatchObject({ names: ['pages-a'] })
      expect(await ask({ search: 'ores' })).toMatchObject({ names: ['pages-a'] })
      expect(await ask({ search: made[1]?.id ?? '' })).toMatchObject({ names: ['pages-a'], total: 1 })
      expect(await ask({ mine: 'true' })).toMatchObject({ names: [], total: 0 })
      const [lead, member] = [await signIn('green-admin@example.org'), await signIn('paged@example.org')]
      expect(await ask({ limit: 1 }, lead)).toMatchObject({ names: ['pages-a'], total: 3 })
      expect(await ask({ domain: 'amber', limit: 1 }, lead)).toEqual({ names: [], total: 0, nextCursor: null })
      expect(await ask({ limit: 1 }, member)).toEqual({ names: ['Pages-b'], total: 1, nextCursor: null })
      await expect(ask({ cursor: 'no-cursor' })).rejects.toMatchObject({ code: 'bad_request' })
    })

    test('members belong to the domain of the group; adding and removing may be repeated', async () => {
      const user = await makeUser('member@example.org', { domain: 'red' })
      const stranger = await makeUser('stranger@example.org', { domain: 'blue' })
      const { id } = await admin.createGroup({ body: { name: 'crew', domain: 'red' } })
      const put = (userId: UserId) => admin.addGroupMember({ params: { id, userId } })
      await Promise.all([put(user.id), put(user.id), put(user.id)])
      await put(user.id)
      expect((await groupOf('red', 'crew')).members).toBe(1)
      expect((await admin.listUsers({ query: { group: id } })).items.map(one => one.id)).toEqual([user.id])
      const api = await signIn('member@example.org')
      expect((await api.listGroups()).items.map(group => group.name)).toEqual(['crew', 'default'])
      expect(groupNames((await api.me()).user)).toEqual(['crew', 'default'])
      await expect(put(stranger.id)).rejects.toMatchObject({ code: 'user_not_found' })
      const params = { id, userId: user.id }
      await admin.removeGroupMember({ params })
      await admin.removeGroupMember({ params })
      expect(groupNames(await admin.getUser({ params: { id: user.id } }))).toEqual(['default'])
    })
  })

  describe('users', () => {
    beforeAll(async () => {
      for (const name of ['north', 'south']) await admin.createDomain({ body: { name } })
      for (const name of ['alpha', 'beta']) await admin.createGroup({ body: { name, domain: 'north' } })
    })

    test('a new user is in the named groups, or in default; an unknown name creates no account', async () => {
      expect(groupNames(await makeUser('plain-north@example.org', { domain: 'north' }))).toEqual(['default'])
      const { id } = await groupOf('north', 'beta')
      const named = await makeUser('named@example.org', { domain: 'north', groups: ['ALPHA', id] })
      expect(groupNames(named)).toEqual(['alpha', 'beta'])
      expect(groupNames(await makeUser('lonely@example.org', { domain: 'north', groups: [] }))).toEqual([])
      const create = makeUser('never@example.org', { domain: 'north', groups: ['alpha', 'gamma'] })
      await expect(create).rejects.toMatchObject({ code: 'group_not_found', detail: { group: 'gamma' } })
      await expect(makeUser('never@example.org', { domain: 'east' })).rejects.toMatchObject({
        code: 'domain_not_found',
      })
      const { items } = await admin.listUsers({ query: { search: 'NEVER@example' } })
      expect(items).toEqual([])
    })

    test('a user who moves leaves the groups of the old domain, and has to sign in again', async () => {
      const user = await makeUser('moves@example.org', { domain: 'north', groups: ['alpha'] })
      const api = await signIn('moves@example.org')
      const moved = await admin.updateUser({ params: { id: user.id }, body: { domain: 'south' } })
      expect(moved).toMatchObject({ domain: 'south', groups: [{ name: 'default' }] })
      await expect(api.me()).rejects.toMatchObject({ code: 'not_signed_in' })
      expect((await groupOf('north', 'alpha')).members).toBe(
        (await admin.listUsers({ query: { group: (await groupOf('north', 'alpha')).id } })).items.length,
      )
      const back = await admin.updateUser({ params: { id: user.id }, body: { domain: 'north', groups: ['beta'] } })
      expect(groupNames(back)).toEqual(['beta'])
      const replaced = await admin.updateUser({ params: { id: user.id }, body: { groups: ['alpha', 'default'] } })
      expect(groupNames(replaced)).toEqual(['alpha', 'default'])
    })

    test('a new name or other groups end no sign-in, and are visible at once', async () => {
      const user = await makeUser('renamed@example.org', { domain: 'north' })
      const api = await signIn('renamed@example.org')
      await admin.updateUser({ params: { id: user.id }, body: { name: 'New Name', groups: ['beta'] } })
      expect((await api.me()).user).toMatchObject({ name: 'New Name', groups: [{ name: 'beta' }] })
    })

    test('of two superadmins who deactivate each other at the same time, one succeeds', async () => {
      const pair = await Promise.all(
        ['one', 'two'].map(name => makeUser(`${name}-super@example.org`, { role: 'superadmin' })),
      )
      const apis = await Promise.all(pair.map(user => signIn(user.email)))
      // The first administrator is deactivated, so that only these two are left.
      const first = (await admin.me()).user
      for (const one of (await admin.listUsers({ query: { role: 'superadmin', active: 'true' } })).items) {
        if (one.id !== first.id && !pair.some(user => user.id === one.id)) {
          await admin.updateUser({ params: { id: one.id }, body: { role: 'user' } })
        }
      }
      await apis[0]?.updateUser({ params: { id: first.id }, body: { active: false } })
      const deactivate = (by: number, whom: number) =>
        apis[by]?.updateUser({ params: { id: pair[whom]?.id ?? first.id }, body: { active: false } })
      const outcomes = await Promise.allSettled([deactivate(0, 1), deactivate(1, 0)])
      expect(outcomes.filter(outcome => outcome.status === 'fulfilled')).toHaveLength(1)
      const survivor = outcomes[0].status === 'fulfilled' ? apis[0] : apis[1]
      await survivor?.updateUser({ params: { id: first.id }, body: { active: true } })
      admin = (await manager.signIn()).api
    })

    test('lists are filtered by state, role, domain, group and part of the name, and paged', async () => {
      const created: User[] = []
      for (let index = 0; index < 5; index++) {
        created.push(await makeUser(`filter-${index}@example.org`, { domain: 'south', name: `Zoë ${index}` }))
      }
      await admin.updateUser({ params: { id: created[4]?.id ?? UserId.parse('') }, body: { active: false } })
      const emails = async (query: Record<string, string>) =>
        (await admin.listUsers({ query })).items.map(user => user.email)
      const names = (...indexes: number[]) => indexes.map(index => `filter-${index}@example.org`)
      expect(await emails({ search: 'FILTER-' })).toEqual(names(0, 1, 2, 3, 4))
      expect(await emails({ search: 'zoë', active: 'true' })).toEqual(names(0, 1, 2, 3))
      expect(await emails({ search: 'zoë', active: 'false' })).toEqual(names(4))
      expect(await emails({ search: 'filter-', role: 'superadmin' })).toEqual([])
      expect(await emails({ search: '%' })).toEqual([])
      expect(await emails({ domain: 'north', search: 'filter-' })).toEqual([])
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const page = await admin.listUsers({ query: { limit: 2, cursor, domain: 'south', search: 'filter-' } })
        expect(page.items.length).toBeLessThanOrEqual(2)
        seen.push(...page.items.map(user => user.email))
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined)
      expect(seen).toEqual(names(0, 1, 2, 3, 4))
    })
  })
})

test('an admin of a domain manages it from the command line; passwords come from standard input', async () => {
  await using manager = await startTestManager()
  await using cli = await createCli()
  const login = (email: string, password: string) => cli.run(loginCommand(manager.url, email), `${password}\n`)
  const admin = (command: string, input?: string) => cli.run(['admin', ...command.split(' ')], input)

  expect((await login(ADMIN.email, ADMIN.password)).code).toBe(0)
  expect((await admin('domain create lab --cpu 8 --gpu 0 --registries docker.io')).out).toMatch(
    /lab +yes +8 CPU, 0 GPU/,
  )
  expect((await admin('domain update lab --cpu unlimited --mem 16g')).out).toMatch(/lab +yes +16 GiB RAM, 0 GPU/)
  const head = await admin(
    'user create head@example.org --role domain_admin --domain lab --password-stdin --no-require-password-change',
    PASSWORD,
  )
  expect(head.out).toMatch(/head@example.org +head +domain_admin +lab +default +yes/)

  expect((await login('head@example.org', PASSWORD)).code).toBe(0)
  expect((await admin('domain create other')).err).toContain('forbidden')
  expect((await admin('project create vision --gpu-shares 1.5')).out).toMatch(/lab +vision +yes +0 +1.5 fGPU/)
  const weak = await admin('user create ada@example.org --password-stdin', 'weak')
  expect(weak.code).toBeGreaterThan(0)
  expect(weak.err).toContain('weak_password')
  const made = await admin('user create ada@example.org --projects vision --password-stdin --json', PASSWORD)
  expect(JSON.parse(made.out)).toMatchObject({ domain: 'lab', groups: [{ name: 'vision' }], role: 'user' })
  expect((await admin('project members add lab/default ADA@example.org')).code).toBe(0)
  expect((await admin('user ls')).out).toMatch(/ada@example.org +ada +user +lab +default, vision +yes/)
  expect((await admin('project members rm vision ada@example.org')).code).toBe(0)
  const groups = JSON.parse((await admin('project ls --json')).out) as Group[]
  expect(groups.map(group => [group.name, group.members])).toEqual([
    ['default', 2],
    ['vision', 0],
  ])
  expect((await admin('user deactivate ada@example.org')).out).toMatch(/default +no/)
  expect((await admin('user ls')).out).not.toContain('ada@')
  expect((await admin('user ls --inactive')).out).toContain('ada@')
  expect((await admin('user activate ada@example.org')).out).toMatch(/default +yes/)
  expect((await admin('user update ada@example.org --role superadmin')).err).toContain('forbidden')
  expect((await admin(`user update ${ADMIN.email} --name Me`)).err).toContain('user_not_found')
  expect((await admin('project deactivate vision')).out).toMatch(/vision +no/)
})
