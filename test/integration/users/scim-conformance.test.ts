import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import {
  ERROR,
  GROUP,
  LIST,
  PATCH,
  scimClient,
  type ScimDoc,
  type ScimReply,
  type ScimRequest,
  USER,
} from './scim-steps.ts'

/**
 * The situations of two public lists, in our own words: the "SCIM 2.0 SPEC test" that Okta gives to authors of services, and the cases of the
 * SCIM validator of Microsoft Entra ID.
 */
let manager: TestManager
let scim: ScimRequest
beforeAll(async () => {
  manager = await startTestManager()
  const { api: admin } = await manager.signIn()
  await admin.createDomain({ body: { name: 'lab' } })
  const { token } = await admin.createScimToken({ body: { name: 'validator', domain: 'lab' } })
  scim = scimClient(manager.url, token)
})
afterAll(() => manager[Symbol.asyncDispose]())

let count = 0
/** A user as Okta sends it, with attributes that Berth does not keep. */
const aUser = (userName: string) => ({
  schemas: [USER],
  userName,
  name: { givenName: 'Rosa', familyName: 'Lang' },
  emails: [{ primary: true, value: userName, type: 'work' }],
  displayName: 'Rosa Lang',
  locale: 'en-US',
  externalId: `ext-${userName}`,
  groups: [],
  password: 'not-taken-1X!',
  active: true,
  [`urn:ietf:params:scim:schemas:extension:enterprise:2.0:User`]: { department: 'Optics' },
})

interface World {
  readonly userName: string
  /** A user who is there. */
  readonly user: ScimDoc
  /** A group with that user. */
  readonly group: ScimDoc
}
let world: World
beforeEach(async () => {
  count += 1
  const userName = `rosa-${count}@example.org`
  const { body: user } = await scim('POST', '/Users', aUser(userName))
  const given = {
    schemas: [GROUP],
    displayName: `Optics ${count}`,
    externalId: `g-${count}`,
    members: [{ value: user.id }],
  }
  const { body: group } = await scim('POST', '/Groups', given)
  world = { userName, user, group }
})

const where = (filter: string) => `?filter=${encodeURIComponent(filter)}`
const ops = (...Operations: unknown[]) => ({ schemas: [PATCH], Operations })

type Ask = (world: World) => readonly [method: string, path: string, body?: unknown]
interface Situation {
  readonly ask: Ask
  readonly status: number
  /** Parts that the answer must have. */
  readonly has?: (world: World) => object
  /** A look at the same thing afterwards. */
  readonly then?: readonly [ask: Ask, status: number, has?: (world: World) => object]
}

const get =
  (of: 'user' | 'group'): Ask =>
  one => ['GET', `/${of === 'user' ? 'Users' : 'Groups'}/${one[of].id}`]
const patchUser =
  (...operations: unknown[]): Ask =>
  ({ user }) => ['PATCH', `/Users/${user.id}`, ops(...operations)]
const patchGroup =
  (operation: (world: World) => unknown): Ask =>
  one => ['PATCH', `/Groups/${one.group.id}`, ops(operation(one))]
const none = () => ({ schemas: [LIST], totalResults: 0, itemsPerPage: 0, Resources: [] })
const theUser = ({ user }: World) => ({ totalResults: 1, Resources: [{ id: user.id }] })
const theGroup = ({ group }: World) => ({ totalResults: 1, Resources: [{ id: group.id }] })
const error = (status: number) => () => ({
  schemas: [ERROR],
  status: String(status),
  detail: expect.stringMatching(/./) as unknown,
})
const number = expect.any(Number) as unknown

const USERS: Record<string, Situation> = {
  'the first user of a list has all that is asked of users': {
    ask: () => ['GET', '/Users?count=1&startIndex=1'],
    status: 200,
    has: () => ({
      schemas: [LIST],
      itemsPerPage: 1,
      startIndex: 1,
      totalResults: number,
      Resources: [
        { schemas: [USER], userName: expect.stringMatching(/@/) as unknown, active: true, name: {}, emails: [{}] },
      ],
    }),
  },
  'one user by the id': {
    ask: get('user'),
    status: 200,
    has: ({ user, userName }) => ({ schemas: [USER], id: user.id, userName, active: true }),
  },
  'no user has a userName that nobody has': {
    ask: () => ['GET', `/Users${where('userName eq "nobody-here"')}`],
    status: 200,
    has: none,
  },
  'a user by the userName': {
    ask: ({ userName }) => ['GET', `/Users${where(`userName eq "${userName}"`)}`],
    status: 200,
    has: theUser,
  },
  'a user by the userName in another case': {
    ask: ({ userName }) => ['GET', `/Users${where(`userName eq "${userName.toUpperCase()}"`)}`],
    status: 200,
    has: theUser,
  },
  'a user by the externalId': {
    ask: ({ userName }) => ['GET', `/Users${where(`externalId eq "ext-${userName}"`)}`],
    status: 200,
    has: theUser,
  },
  'a user by an address of a type': {
    ask: ({ userName }) => ['GET', `/Users${where(`emails[type eq "work"].value eq "${userName}"`)}`],
    status: 200,
    has: theUser,
  },
  'a user by two attributes': {
    ask: ({ userName }) => ['GET', `/Users${where(`userName eq "${userName}" and active eq true`)}`],
    status: 200,
    has: theUser,
  },
  'a new user': {
    ask: ({ userName }) => ['POST', '/Users', aUser(`new-${userName}`)],
    status: 201,
    has: ({ userName }) => ({
      schemas: [USER],
      id: expect.stringMatching(/./) as unknown,
      userName: `new-${userName}`,
      active: true,
      name: { givenName: 'Rosa', familyName: 'Lang' },
      meta: { resourceType: 'User', location: expect.stringMatching(/\/Users\//) as unknown },
    }),
  },
  'the same user again': {
    ask: ({ userName }) => ['POST', '/Users', aUser(userName)],
    status: 409,
    has: () => ({ ...error(409)(), scimType: 'uniqueness' }),
  },
  'a user without a userName': {
    ask: () => ['POST', '/Users', { schemas: [USER], active: true }],
    status: 400,
    has: error(400),
  },
  'a user who is not there': { ask: () => ['GET', '/Users/00919288221112222'], status: 404, has: error(404) },
  'a change of a user who is not there': {
    ask: () => ['PATCH', '/Users/00919288221112222', ops({ op: 'replace', path: 'active', value: false })],
    status: 404,
    has: error(404),
  },
  'a whole user in place of the old one': {
    ask: ({ user, userName }) => [
      'PUT',
      `/Users/${user.id}`,
      { ...aUser(userName), id: user.id, name: { givenName: 'Rosa', familyName: 'Hart' } },
    ],
    status: 200,
    has: () => ({ active: true, name: { familyName: 'Hart' } }),
  },
  'a whole user that is not active': {
    ask: ({ user, userName }) => ['PUT', `/Users/${user.id}`, { ...aUser(userName), active: false }],
    status: 200,
    has: () => ({ active: false }),
    then: [get('user'), 200, () => ({ active: false })],
  },
  'several attributes changed by paths': {
    ask: patchUser(
      { op: 'replace', path: 'displayName', value: 'R. Lang' },
      { op: 'replace', path: 'name.givenName', value: 'Rosalind' },
      { op: 'replace', path: 'emails[type eq "work"].value', value: 'rosalind@example.org' },
      { op: 'add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'Sound' },
    ),
    status: 200,
    has: () => ({
      displayName: 'R. Lang',
      name: { givenName: 'Rosalind' },
      emails: [{ value: 'rosalind@example.org' }],
    }),
  },
  'several attributes changed without a path': {
    ask: patchUser({
      op: 'Replace',
      value: { DisplayName: 'R. Lang', 'name.familyName': 'Hart', externalid: 'other' },
    }),
    status: 200,
    has: () => ({ displayName: 'R. Lang', name: { familyName: 'Hart' }, externalId: 'other' }),
  },
  'a new userName': {
    ask: ({ user, userName }) => [
      'PATCH',
      `/Users/${user.id}`,
      ops({ op: 'Replace', path: 'userName', value: `x-${userName}` }),
    ],
    status: 200,
    has: ({ userName }) => ({ userName: `x-${userName}` }),
    then: [({ userName }) => ['GET', `/Users${where(`userName eq "${userName}"`)}`], 200, none],
  },
  'a user switched off': {
    ask: patchUser({ op: 'Replace', path: 'active', value: 'False' }),
    status: 200,
    has: () => ({ active: false }),
    then: [({ userName }) => ['GET', `/Users${where(`userName eq "${userName}"`)}`], 200, theUser],
  },
  'a user deleted': { ask: ({ user }) => ['DELETE', `/Users/${user.id}`], status: 204, then: [get('user'), 404] },
  'a user deleted who is not there': {
    ask: () => ['DELETE', '/Users/00919288221112222'],
    status: 404,
    has: error(404),
  },
}

const GROUPS: Record<string, Situation> = {
  'a list of groups': {
    ask: () => ['GET', '/Groups'],
    status: 200,
    has: () => ({ schemas: [LIST], itemsPerPage: number, startIndex: 1, totalResults: number }),
  },
  'one group, with its members': {
    ask: get('group'),
    status: 200,
    has: ({ user, group }) => ({ schemas: [GROUP], displayName: group.displayName, members: [{ value: user.id }] }),
  },
  'one group without its members': {
    ask: ({ group }) => ['GET', `/Groups/${group.id}?excludedAttributes=members`],
    status: 200,
    has: () => expect.not.objectContaining({ members: expect.anything() as unknown }) as object,
  },
  'a group by the name, without its members': {
    ask: ({ group }) => [
      'GET',
      `/Groups${where(`displayName eq "${String(group.displayName)}"`)}&excludedAttributes=members`,
    ],
    status: 200,
    has: theGroup,
  },
  'a group by the externalId': {
    ask: ({ group }) => ['GET', `/Groups${where(`externalId eq "${group.externalId}"`)}`],
    status: 200,
    has: theGroup,
  },
  'a group by its id and a member': {
    ask: ({ group, user }) => ['GET', `/Groups${where(`id eq "${group.id}" and members eq "${user.id}"`)}`],
    status: 200,
    has: theGroup,
  },
  'no group has a name that none has': {
    ask: () => ['GET', `/Groups${where('displayName eq "nothing"')}`],
    status: 200,
    has: none,
  },
  'the same group again': {
    ask: ({ group }) => ['POST', '/Groups', { schemas: [GROUP], displayName: group.displayName }],
    status: 409,
    has: error(409),
  },
  'a group that is not there': { ask: () => ['GET', '/Groups/00919288221112222'], status: 404, has: error(404) },
  'another name of a group': {
    ask: patchGroup(({ group }) => ({ op: 'Replace', path: 'displayName', value: `${String(group.displayName)} B` })),
    status: 200,
    then: [
      get('group'),
      200,
      ({ group, user }) => ({ displayName: `${String(group.displayName)} B`, members: [{ value: user.id }] }),
    ],
  },
  'a member who is one already': {
    ask: patchGroup(({ user }) => ({ op: 'Add', path: 'members', value: [{ value: user.id }] })),
    status: 200,
    then: [get('group'), 200, ({ user }) => ({ members: [{ value: user.id }] })],
  },
  'a member, named in another case': {
    ask: patchGroup(({ user }) => ({ op: 'add', path: 'Members', value: [{ Value: user.id }] })),
    status: 200,
    then: [get('group'), 200, ({ user }) => ({ members: [{ value: user.id }] })],
  },
  'a member taken out': {
    ask: patchGroup(({ user }) => ({ op: 'Remove', path: `members[value eq "${user.id}"]` })),
    status: 200,
    then: [get('group'), 200, () => ({ members: [] })],
  },
  'all members taken out': {
    ask: patchGroup(() => ({ op: 'remove', path: 'members' })),
    status: 200,
    then: [get('group'), 200, () => ({ members: [] })],
  },
  'other members in place of the old ones': {
    ask: ({ group }) => [
      'PUT',
      `/Groups/${group.id}`,
      { schemas: [GROUP], displayName: group.displayName, members: [] },
    ],
    status: 200,
    has: () => ({ members: [] }),
  },
  'a group deleted': { ask: ({ group }) => ['DELETE', `/Groups/${group.id}`], status: 204, then: [get('group'), 404] },
}

const judge = (reply: ScimReply, status: number, has: object | undefined): void => {
  expect({ status: reply.status, body: reply.body }).toMatchObject({ status, body: has ?? {} })
  if (status !== 204) expect(reply.headers.get('content-type')).toContain('application/scim+json')
}

describe.each([
  ['users', USERS],
  ['groups', GROUPS],
])('%s', (_, situations) => {
  test.each(Object.entries(situations))('%s', async (_title, { ask, status, has, then }) => {
    judge(await scim(...ask(world)), status, has?.(world))
    if (then) judge(await scim(...then[0](world)), then[1], then[2]?.(world))
  })
})

test('all pages together are the whole list, each account once', async () => {
  const all = (await scim('GET', '/Users')).body
  const pages = await Promise.all(
    Array.from({ length: all.totalResults }, (_, index) => scim('GET', `/Users?startIndex=${index + 1}&count=1`)),
  )
  expect(pages.flatMap(({ body }) => body.Resources.map(({ id }) => id))).toEqual(all.Resources.map(({ id }) => id))
  expect((await scim('GET', '/Groups?startIndex=2&count=1')).body).toMatchObject({ itemsPerPage: 1, startIndex: 2 })
  expect((await scim('GET', `/Users?startIndex=${all.totalResults + 1}`)).body.Resources).toEqual([])
})
