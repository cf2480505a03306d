import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ErrorCode, type RouteName, ROUTES, type RouteSpec } from '#manager/contract'
import { testSet } from '../../../build/bootstrap/test-sets.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import {
  type Kind,
  KINDS,
  type MatrixWorld,
  PASSWORD,
  type Relation,
  RELATIONS,
  startMatrixWorld,
  TUS,
  WHO,
  type Who,
} from './matrix-world.ts'

/**
 * Every role against every route, on real objects: those of the caller, of somebody in the same domain, of a superadmin in the same domain,
 * and of somebody in another domain. The path of a route determines the objects that it needs, so that a new route is tested without a line
 * here; a route with an unknown kind of object fails.
 */
const UNKNOWN = '00000000-0000-7000-8000-000000000000'
const NAMES: Readonly<Record<Kind, RegExp>> = {
  session: /^\/api\/v1\/sessions\/:id/,
  user: /^\/api\/v1\/users\/:id/,
  group: /^\/api\/v1\/groups\/:id/,
  keypair: /^\/api\/v1\/keypairs\/:accessKey/,
  invitation: /^\/api\/v1\/invitations\/:id/,
  signUpRequest: /^\/api\/v1\/sign-up-requests\/:id/,
  folder: /^\/api\/v1\/folders\/:id/,
  folderInvitation: /^\/api\/v1\/folder-invitations\/:id/,
  login: /^\/api\/v1\/me\/logins\/:id/,
  accessToken: /^\/api\/v1\/me\/tokens\/:id/,
  scimToken: /^\/api\/v1\/scim-tokens\/:id/,
  webhook: /^\/api\/v1\/webhooks\/:id/,
}
const NOT_FOUND: Readonly<Record<Kind, ErrorCode>> = {
  session: 'session_not_found',
  user: 'user_not_found',
  group: 'group_not_found',
  keypair: 'keypair_not_found',
  invitation: 'invitation_not_found',
  signUpRequest: 'sign_up_request_not_found',
  folder: 'folder_not_found',
  folderInvitation: 'folder_invitation_not_found',
  login: 'login_not_found',
  accessToken: 'access_token_not_found',
  scimToken: 'scim_token_not_found',
  webhook: 'webhook_not_found',
}
/** Terminal, apps, keys and files, tags, sharing and log: only for the owner, who may let administrators read the log. */
const ENTERS: readonly string[] = [
  'getSessionLogs',
  'readSessionLog',
  'getSshAccess',
  'createGrant',
  'grantToProgram',
  'startApp',
  'publishApp',
  'openApp',
  'restartSession',
  'addSessionFolder',
  'removeSessionFolder',
  'updateSession',
  'shareSession',
  'saveSession',
  'getSessionImage',
  'cancelSessionImage',
  'acceptKeypair',
  'runCommand',
  'listCommands',
  'getCommand',
  'readCommandOutput',
  'endCommand',
  'listSessionFiles',
  'readSessionFile',
  'writeSessionFile',
]
/** For access tokens only: no sign-in may, whatever its role. */
const BY_TOKEN: readonly string[] = ['grantToProgram']
/** Actions that need the password for one's own account. */
const FOR_OTHERS: readonly string[] = ['createAccountLink', 'createUserKeypair', 'resetTotp', 'endUserLogins']
/** Bodies that the schema accepts, so that only the right is tested. */
const BODIES: Partial<Record<RouteName, unknown>> = {
  startApp: {},
  runCommand: { command: ['true'] },
  addSessionFolder: { folder: 'none' },
  saveSession: { reference: 'made/here:1' },
  publishApp: {},
  openApp: {},
  updateUser: { name: 'Same' },
  updateGroup: { description: '' },
  updateKeypair: { active: false },
  updateWebhook: { name: 'same' },
  setSessionPriority: { priority: 0 },
  extendSession: {},
  updateSession: { note: '' },
  shareSession: { email: 'nobody@example.org' },
  createAccountLink: { purpose: 'reset' },
  inviteToFolder: { email: 'nobody@example.org' },
  updateFolderInvitation: { permission: 'rw' },
  updateFolderMember: { permission: 'rw' },
  makeDirectory: { path: 'made' },
  moveFiles: { paths: ['none'], to: '' },
  copyFiles: { paths: ['none'], to: '' },
  deleteFiles: { paths: ['none'] },
  cloneFolder: { name: 'copy' },
  createDownload: { paths: ['none'] },
  readBundle: { paths: ['none'] },
  readChecksums: { paths: ['none'] },
}
/** Queries and headers that a route needs besides. */
const QUERIES: Partial<Record<RouteName, string>> = {
  clearMessages: `?until=${UNKNOWN}`,
  readFile: '?path=none',
  readSessionFile: '?path=none',
  writeSessionFile: '?path=made',
  writeFile: '?path=made',
  archiveFiles: '?path=none',
  searchFiles: '?text=none',
}
const HEADERS: Partial<Record<RouteName, Record<string, string>>> = {
  writeSessionFile: { 'if-none-match': '*', 'content-type': 'application/octet-stream' },
  writeFile: { 'if-none-match': '*', 'content-type': 'application/octet-stream' },
  uploadBundle: { 'content-type': 'application/vnd.berth.bundle' },
}
/** Codes for things that a caller may request in an own object, but that do not exist. */
const NOT_IN_IT: readonly string[] = [
  'app_not_found',
  'command_not_found',
  'publishing_off',
  'session_member_not_found',
  'folder_member_not_found',
  'folder_invitation_not_found',
  'file_not_found',
  'task_not_found',
  'webhook_delivery_not_found',
]

const routes = (Object.entries(ROUTES) as [RouteName, RouteSpec][]).map(([name, route]) => {
  const kind = KINDS.find(one => NAMES[one].test(route.path))
  return { name, route, kind }
})
const MAY: Record<RouteSpec['access'], readonly Who[]> = {
  none: WHO,
  user: ['user', 'domain_admin', 'superadmin'],
  domain_admin: ['domain_admin', 'superadmin'],
  superadmin: ['superadmin'],
  console: [],
}

/**
 * Callers without a sign-in, or without the role for a route, are refused before the object is looked at. In `npm test` one object shows that;
 * for a role, one that its caller must not see: a look would answer that there is none.
 */
function relationsOf(who: Who, { access }: RouteSpec): readonly Relation[] {
  if (who === 'anonymous') return ['own']
  return MAY[access].includes(who) || testSet(process.env) === 'all' ? RELATIONS : ['far']
}
const onObjects = routes.flatMap(({ name, route, kind }) =>
  kind ? WHO.flatMap(who => relationsOf(who, route).map(relation => ({ name, route, kind, who, relation }))) : [],
)
const without = routes.flatMap(({ name, route, kind }) => (kind ? [] : WHO.map(who => ({ name, route, who }))))
const size = onObjects.length + without.length

/** The rules of the design, repeated here independently. */
function sees(who: Who, kind: Kind, relation: Relation): boolean {
  if (who === 'anonymous') return false
  // Only the owner, regardless of role.
  if (kind === 'folder' || kind === 'folderInvitation' || kind === 'login' || kind === 'accessToken') {
    return relation === 'own'
  }
  if (who === 'superadmin') return true
  const admin = who === 'domain_admin'
  switch (kind) {
    case 'session':
      return relation === 'own' || (admin && relation !== 'far')
    case 'keypair':
      return relation === 'own' || (admin && relation === 'near')
    case 'user':
      return admin && (relation === 'own' || relation === 'near')
    case 'group':
    case 'scimToken':
    case 'webhook':
    case 'signUpRequest':
    case 'invitation':
      return admin && relation !== 'far'
  }
}

let world: MatrixWorld
beforeAll(async () => {
  world = await startMatrixWorld()
})
afterAll(() => world[Symbol.asyncDispose]())

/** The answer to HEAD has no body that names the error. */
const codeOfHead = (status: number, kind: Kind | undefined) =>
  status === 401 ? 'not_signed_in' : status === 403 ? 'forbidden' : status === 404 && kind ? NOT_FOUND[kind] : undefined

async function ask(
  route: RouteSpec,
  who: Who,
  { name, params = {}, body, kind }: { name: RouteName; params?: Record<string, string>; body?: unknown; kind?: Kind },
) {
  const token = who === 'anonymous' ? undefined : world.callers[who].token
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? 'none')
  const reply = await rawRequest(world.cluster.url + path + (QUERIES[name] ?? ''), {
    method: route.method,
    headers: {
      ...HEADERS[name],
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(route.path.includes('/uploads') ? TUS : {}),
    },
    ...(route.body ? { body: body ?? {} } : {}),
  })
  expect(reply.status).toBeLessThan(500)
  const code = route.method === 'HEAD' ? codeOfHead(reply.status, kind) : (reply.json?.code as string | undefined)
  return { status: reply.status, code }
}

describe(`the matrix: ${size} requests of 4 roles over ${routes.length} routes`, () => {
  test('every route is in the matrix', () => {
    for (const { name, route, kind } of routes) {
      const cases = kind ? onObjects.filter(one => one.name === name) : without.filter(one => one.name === name)
      expect(cases.length, name).toBeGreaterThan(0)
      // Routes for all signed-in users on a single object need objects here, in all relations.
      const single = /\/:(id|accessKey)\b/.test(route.path) && route.access !== 'superadmin'
      if (single) expect(kind, `${name}: the matrix has no such objects`).toBeDefined()
    }
    expect(size).toBeGreaterThan(500)
  })

  test.each(onObjects)('$name of $relation $kind as $who', async ({ name, route, kind, who, relation }) => {
    const id = await world.object(kind, who, relation, name)
    const owner = world.ownerOf(who, relation)
    const uploadId = route.path.includes('/:uploadId') ? await world.upload(owner, id) : ''
    const { status, code } = await ask(route, who, {
      name,
      params: {
        id,
        accessKey: id,
        userId: owner.id,
        app: 'jupyter',
        folderId: UNKNOWN,
        invitationId: UNKNOWN,
        deliveryId: UNKNOWN,
        taskId: UNKNOWN,
        commandId: UNKNOWN,
        uploadId,
      },
      body: name === 'importFiles' ? { from: id, paths: ['none'], to: '' } : BODIES[name],
      kind,
    })
    if (who === 'anonymous') expect(code).toBe('not_signed_in')
    else if (!MAY[route.access].includes(who)) expect(code).toBe('forbidden')
    else if (!sees(who, kind, relation)) expect(code).toBe(NOT_FOUND[kind])
    else if (ENTERS.includes(name) && relation !== 'own') expect(code).toBe('forbidden')
    else if (BY_TOKEN.includes(name)) expect(code).toBe('forbidden')
    else if (FOR_OTHERS.includes(name) && relation === 'own') expect(code).toBe('forbidden')
    else {
      // A refused body would hide the refusal to be tested.
      expect(['not_signed_in', 'forbidden', 'bad_request', NOT_FOUND[kind]]).not.toContain(code)
      // Only members have two objects; the second one is tested below.
      if (code?.endsWith('_not_found') && code !== 'user_not_found') {
        expect(NOT_IN_IT).toContain(code)
      }
      expect(status).not.toBe(400)
    }
  })

  test.each(without)('$name as $who', async ({ name, route, who }) => {
    // A route that ends the sign-in gets a separate sign-in.
    if (name === 'logout' && who !== 'anonymous') {
      const spare = await world.signIn(world.callers[who])
      await spare.api.logout()
      await expect(spare.api.me()).rejects.toMatchObject({ code: 'not_signed_in' })
      return
    }
    const { code } = await ask(route, who, { name, params: { id: UNKNOWN }, body: { wrong: true } })
    if (MAY[route.access].includes(who)) expect(['not_signed_in', 'forbidden']).not.toContain(code)
    else expect(code).toBe(who === 'anonymous' ? 'not_signed_in' : 'forbidden')
  })
})

describe('objects that a request names', () => {
  const outcome = (call: Promise<unknown>) =>
    call.then(
      () => 'ok',
      (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
    )

  test.each([
    ['near', 'forbidden'],
    ['own', 'ok'],
  ] as const)('an admin of a domain activates a keypair that is %s: %s', async (relation, expected) => {
    const owner = world.ownerOf('domain_admin', relation)
    const { accessKey } = await owner.api.createKeypair({ body: { active: false } })
    const change = { params: { accessKey }, body: { active: true } }
    expect(await outcome(world.callers.domain_admin.api.updateKeypair(change))).toBe(expected)
  })

  test.each([
    ['domain_admin', 'red', 'user', 'ok'],
    ['domain_admin', 'red', 'domain_admin', 'ok'],
    ['domain_admin', 'red', 'superadmin', 'forbidden'],
    ['domain_admin', 'blue', 'user', 'forbidden'],
    ['superadmin', 'blue', 'superadmin', 'ok'],
  ] as const)('%s creates in %s a %s: %s', async (who, domain, role, expected) => {
    const email = `${who}-${domain}-${role}@example.org`
    const body = { email, name: 'New', password: PASSWORD, domain, role }
    expect(await outcome(world.callers[who].api.createUser({ body }))).toBe(expected)
  })

  test.each([
    ['near', { role: 'domain_admin' }, 'ok'],
    ['near', { role: 'superadmin' }, 'forbidden'],
    ['near', { domain: 'blue' }, 'forbidden'],
    ['near', { password: 'Another-one-2' }, 'ok'],
    ['top', { password: 'Another-one-2' }, 'user_not_found'],
    ['top', { role: 'user' }, 'user_not_found'],
    ['far', { domain: 'red' }, 'user_not_found'],
  ] as const)('an admin of a domain changes a user who is %s to %j: %s', async (relation, body, expected) => {
    const { api } = world.callers.domain_admin
    expect(await outcome(api.updateUser({ params: { id: world.others[relation].id }, body }))).toBe(expected)
  })

  test.each([
    ['domain_admin', 'near', 'near', 'ok'],
    ['domain_admin', 'near', 'far', 'user_not_found'],
    ['domain_admin', 'near', 'top', 'user_not_found'],
    ['domain_admin', 'far', 'far', 'group_not_found'],
    ['superadmin', 'near', 'top', 'ok'],
    ['superadmin', 'near', 'far', 'user_not_found'],
    ['superadmin', 'far', 'far', 'ok'],
  ] as const)('%s adds to a group that is %s a user who is %s: %s', async (who, group, user, expected) => {
    const params = { id: world.groups[group] as never, userId: world.others[user].id as never }
    expect(await outcome(world.callers[who].api.addGroupMember({ params }))).toBe(expected)
  })

  test.each([
    ['user', 'own', 'ok'],
    ['user', 'near', 'user_not_found'],
    ['user', 'far', 'user_not_found'],
    ['domain_admin', 'near', 'ok'],
    ['domain_admin', 'top', 'user_not_found'],
    ['domain_admin', 'far', 'user_not_found'],
    ['superadmin', 'top', 'ok'],
    ['superadmin', 'far', 'ok'],
  ] as const)('a %s reads the usage of a user who is %s: %s', async (who, relation, expected) => {
    const query = { userId: world.ownerOf(who, relation).id as never }
    expect(await outcome(world.callers[who].api.getUsage({ query }))).toBe(expected)
  })

  test.each([
    ['user', 'blue', 'domain_not_found'],
    ['user', 'red', 'ok'],
    ['domain_admin', 'blue', 'domain_not_found'],
    ['superadmin', 'blue', 'ok'],
  ] as const)('a %s reads the usage of the domain %s: %s', async (who, domain, expected) => {
    expect(await outcome(world.callers[who].api.getUsage({ query: { domain } }))).toBe(expected)
  })

  test('lists contain what the caller may see one by one, and nothing else', async () => {
    const far = world.others.far
    const farIds = [world.sessions.get(far), far.id, world.groups.far, 'blue', far.email]
    for (const who of ['user', 'domain_admin'] as const) {
      const { api } = world.callers[who]
      const texts = [
        JSON.stringify(await api.listSessions({ query: { limit: 500 } })),
        JSON.stringify(await api.listSessions({ query: { owner: far.id } })),
        JSON.stringify(await api.listSessions({ query: { domain: 'blue' } })),
        JSON.stringify(await api.listKeypairs({ query: { limit: 500 } })),
        JSON.stringify(await api.listGroups()),
        JSON.stringify(await api.listGroups({ query: { domain: 'blue' } })),
        ...(who === 'user'
          ? []
          : [
              JSON.stringify(await api.listUsers({ query: { limit: 500 } })),
              JSON.stringify(await api.listUsers({ query: { domain: 'blue' } })),
              JSON.stringify(await api.listUsers({ query: { group: world.groups.far } })),
              JSON.stringify(await api.listUsers({ query: { search: 'far@' } })),
              JSON.stringify(await api.listDomains()),
              JSON.stringify(await api.listInvitations()),
            ]),
      ]
      for (const text of texts) for (const id of farIds) expect(text).not.toContain(`"${String(id)}"`)
    }
    const emails = (await world.callers.domain_admin.api.listUsers({ query: { limit: 500 } })).items.map(
      one => one.email,
    )
    expect(emails).toContain(world.others.near.email)
    expect(emails).not.toContain(world.others.top.email)
    const seen = (await world.callers.domain_admin.api.listSessions({ query: { limit: 500 } })).items.map(one => one.id)
    expect(seen).toEqual(
      expect.arrayContaining([world.sessions.get(world.others.near), world.sessions.get(world.others.top)]),
    )
    const all = (await world.cluster.api.listSessions({ query: { limit: 500 } })).items.map(one => one.id)
    expect(all).toEqual(expect.arrayContaining([...world.sessions.values()]))
  })

  const ways = ['terminal', 'tcpproxy'] as const
  const upgrades = ways.flatMap(way => WHO.flatMap(who => RELATIONS.map(relation => ({ way, who, relation }))))
  test.each(upgrades)('$way of a session that is $relation as $who', async ({ way, who, relation }) => {
    const id = await world.object('session', who, relation)
    const path = way === 'terminal' ? `/api/v1/sessions/${id}/terminal` : `/stream/session/${id}/tcpproxy?app=jupyter`
    const code = await upgrade(path, who === 'anonymous' ? undefined : world.callers[who].token)
    if (who === 'anonymous') expect(code).toBe('not_signed_in')
    else if (!sees(who, 'session', relation)) expect(code).toBe('session_not_found')
    else expect(code).toBe(relation === 'own' ? 'session_not_running' : 'forbidden')
  })
})

/** The code with which an upgrade is refused. */
function upgrade(path: string, token: string | undefined): Promise<string> {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest(world.cluster.url + path, { headers, agent: false })
    request.on('response', reply => {
      const parts: Buffer[] = []
      reply.on('data', (part: Buffer) => parts.push(part))
      reply.on('end', () => resolve((JSON.parse(Buffer.concat(parts).toString()) as { code: string }).code))
    })
    request.on('upgrade', () => resolve('101'))
    request.on('error', reject)
    request.end()
  })
}
