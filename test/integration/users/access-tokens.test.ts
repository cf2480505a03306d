import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccessTokenSpec,
  type ApiClient,
  type RouteName,
  ROUTES,
  type RouteSpec,
  SCOPE_OF,
  SessionId,
  TOKEN_SCOPES,
  type TokenScope,
} from '#manager/contract'
import { testSet, wayOf } from '../../../build/bootstrap/test-sets.ts'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { ADMIN, apiOf, signedApi } from '../../fixtures/manager.ts'
import { type RawReply, rawRequest } from '../../fixtures/raw-http.ts'
import { gpus, PYTHON } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
let person: ApiClient
beforeAll(async () => {
  cluster = await startSessionsCluster()
  person = await cluster.addUser('coder@localhost')
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const spec = (scopes: readonly TokenScope[], more: Partial<AccessTokenSpec> = {}) => ({
  body: { name: 'agent', scopes: [...scopes], days: 1, ...more },
})
async function tokenWith(scopes: readonly TokenScope[], more: Partial<AccessTokenSpec> = {}, of = person) {
  const made = await of.createAccessToken(spec(scopes, more))
  return { ...made, api: apiOf(cluster.url, made.token) }
}
/** Joins an agent that sees the folders. */
async function joinWithStorage() {
  const marker = await readFile(join(cluster.source.dataDir, 'storage/.berth-storage'), 'utf8')
  return cluster.join({ storage: [marker.trim()] })
}
/** The refusal of a dot folder for a session that a token launched. */
const refusedDot = ['session_folders_fixed', 'dot_folder_with_token']
const refused = async (call: Promise<unknown>) => {
  const { code, detail } = await refusal(call)
  return [code, detail.cause]
}

describe('an access token', () => {
  test('is shown once, listed without it, used, and ended', async () => {
    const { token, api, ...made } = await tokenWith(['read'], { name: 'watcher' })
    expect(token).toMatch(/^berth_/)
    expect(made).toMatchObject({ name: 'watcher', scopes: ['read'], sessions: 0, lastUsedAt: null })
    expect((await person.listAccessTokens()).items).toContainEqual(made)
    expect((await person.listLogins()).items.map(({ id }) => id)).not.toContain(made.id)
    expect((await api.me()).user.email).toBe('coder@localhost')
    // The first use counts, however soon it comes.
    const used = () => person.listAccessTokens().then(({ items }) => items.find(({ id }) => id === made.id)?.lastUsedAt)
    expect(await used()).toEqual(expect.any(String))
    await person.endAccessToken({ params: { id: made.id } })
    expect(await refused(api.me())).toEqual(['not_signed_in', 'sign_in_ended'])
    expect(await refused(person.endAccessToken({ params: { id: made.id } }))).toEqual([
      'access_token_not_found',
      undefined,
    ])
    const news = (await person.listAccountNews()).items.map(({ about, detail }) => [about, detail])
    expect(news).toContainEqual(['own_token_made', 'watcher'])
  })

  test('is made by a person, not by a keypair or by another token, and ends only for its owner', async () => {
    const keypair = await person.createKeypair({ body: {} })
    expect((await refused(signedApi(cluster.url, keypair).createAccessToken(spec(['read']))))[0]).toBe('forbidden')
    const { api, id } = await tokenWith(TOKEN_SCOPES)
    expect(await refused(api.createAccessToken(spec(['read'])))).toEqual(['forbidden', 'not_by_token'])
    expect((await refused(cluster.api.endAccessToken({ params: { id } })))[0]).toBe('access_token_not_found')
    expect((await api.me()).user.email).toBe('coder@localhost')
  })

  test('is named in each entry of the audit log that was made with it, also once it has ended', async () => {
    const { api, id } = await tokenWith(['read', 'files'], { name: 'night, "shift"' })
    await api.createFolder({ body: { name: 'by-the-token' } })
    await refused(api.createKeypair({ body: {} }))
    await person.endAccessToken({ params: { id } })
    const { items } = await cluster.api.listAuditLog({ query: { actor: 'coder@localhost', limit: 3 } })
    expect(items.map(({ action, result, token, tokenId }) => [action, result, token, tokenId])).toEqual([
      ['endAccessToken', 'ok', null, null],
      ['createKeypair', 'forbidden', 'night, "shift"', id],
      ['createFolder', 'ok', 'night, "shift"', id],
    ])
    const { token } = await apiOf(cluster.url).login({ body: { ...ADMIN, kind: 'token' } })
    const file = `${cluster.url}/api/v1/audit-log/export?actor=coder@localhost&format=csv`
    const csv = await (await fetch(file, { headers: { authorization: `Bearer ${token ?? ''}` } })).text()
    expect(csv).toContain(`,"night, ""shift""",${id}\r\n`)
  })

  test('ends with a new password, and when its owner ends all other sign-ins', async () => {
    const email = 'careful@localhost'
    const careful = await cluster.addUser(email)
    const { api } = await tokenWith(['read'], {}, careful)
    await careful.endOtherLogins()
    expect((await refused(api.me()))[0]).toBe('not_signed_in')
    const { api: second } = await tokenWith(['read'], {}, careful)
    await careful.changePassword({ body: { oldPassword: USER_PASSWORD, newPassword: 'Their-own-pass-2' } })
    expect((await refused(second.me()))[0]).toBe('not_signed_in')
  })

  test('reaches exactly the routes of its scopes: all others refuse it before they look at anything', async () => {
    const tokens = Object.fromEntries(
      await Promise.all(TOKEN_SCOPES.map(async scope => [scope, (await tokenWith([scope])).token] as const)),
    )
    const wrong: string[] = []
    for (const [name, route] of Object.entries(ROUTES) as [RouteName, RouteSpec][]) {
      if (route.access === 'none' || route.access === 'console' || name === 'logout') continue
      // In `npm test`, the scope of the route and another one: each refusal goes through the same check.
      const others = TOKEN_SCOPES.filter(one => one !== SCOPE_OF[name])
      const tried = testSet(process.env) === 'all' ? others : wayOf(name, others)
      for (const scope of TOKEN_SCOPES.filter(one => one === SCOPE_OF[name] || tried.includes(one))) {
        const { status, text } = await send(route, tokens[scope] ?? '')
        const isRefused = status === 403 && /not_by_token|token_scope/.test(text)
        if (isRefused !== (SCOPE_OF[name] !== scope) && route.method !== 'HEAD')
          wrong.push(`${scope}: ${name} ${status}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('may call what is named here: a new route is not for tokens unless somebody decides so', () => {
    const of = (scope: TokenScope) =>
      Object.entries(SCOPE_OF).flatMap(([name, needed]) => (needed === scope ? [name] : []))
    expect(of('launch')).toEqual(['createSession', 'updateSession', 'deleteSession', 'extendSession', 'restartSession'])
    expect(of('enter').toSorted()).toEqual([
      'createGrant',
      'endCommand',
      'getCommand',
      'getSshAccess',
      'listCommands',
      'listSessionFiles',
      'readCommandOutput',
      'readSessionFile',
      'runCommand',
      'startApp',
      'writeSessionFile',
    ])
    expect(of('apps')).toEqual(['grantToProgram'])
    const routes: Readonly<Record<string, RouteSpec>> = ROUTES
    expect(of('read').filter(name => routes[name]?.method !== 'GET')).toEqual(['logout', 'whatIf'])
    expect(of('files').filter(name => !routes[name]?.path.startsWith('/api/v1/folders'))).toEqual([])
    expect(
      of('files').filter(name => /share|invit|member|trash|restore|updateFolder|deleteFolder/i.test(name)),
    ).toEqual([])
  })

  test('of an administrator has the rights of a user', async () => {
    await cluster.join()
    const { id } = await cluster.launch({ startsAt: new Date(Date.now() + 86_400_000).toISOString() }, person)
    const { api } = await tokenWith(TOKEN_SCOPES, {}, cluster.api)
    expect((await cluster.api.listSessions({ query: {} })).items.map(one => one.id)).toContain(id)
    expect((await api.listSessions({ query: {} })).items).toEqual([])
    expect((await refused(api.getSession({ params: { id } })))[0]).toBe('session_not_found')
  })
})

describe('the sessions of an access token', () => {
  test('are its own: it sees the others of its owner, but changes, enters and ends none of them', async () => {
    await cluster.join()
    const { api, token } = await tokenWith(['read', 'launch', 'enter'])
    const { id: others } = await cluster.launch({ environ: { SECRET: 'of the owner' } }, person)
    const { id } = await cluster.launch({ environ: { MODE: 'test' } }, api)
    for (const session of [others, id]) await cluster.reach(session, 'RUNNING')
    const seen = await api.getSession({ params: { id: others } })
    expect([seen.environNames, seen.environ]).toEqual([['SECRET'], {}])
    expect((await api.getSession({ params: { id } })).environ).toEqual({ MODE: 'test' })
    const on = { params: { id: others } }
    const foreign = ['forbidden', 'only_token_launched']
    expect(await refused(api.deleteSession(on))).toEqual(foreign)
    expect(await refused(api.updateSession({ ...on, body: { note: 'x' } }))).toEqual(foreign)
    const toAdmins = { params: { id }, body: { adminsMayRead: true } }
    expect(await refused(api.updateSession(toAdmins))).toEqual(['forbidden', 'not_by_token'])
    expect(await refused(api.getSshAccess(on))).toEqual(foreign)
    expect(await refused(api.runCommand({ ...on, body: { command: ['id'] } }))).toEqual(foreign)
    expect(await refused(api.createGrant({ params: { id: others, app: 'jupyter' } }))).toEqual(foreign)
    expect(await terminal(others, token)).toBe(403)
    expect(await terminal(id, (await tokenWith(['read'])).token)).toBe(403)
    await api.getSshAccess({ params: { id } })
    await api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    expect((await person.getSession(on)).status).toBe('RUNNING')
  })

  test('stay within its budget: so many at once, and none lives longer', async () => {
    await cluster.join()
    const { api, id } = await tokenWith(['launch', 'read'], { budget: { sessions: 2, sessionSeconds: 600 } })
    const startsAt = new Date(Date.now() + 86_400_000).toISOString()
    const unlimited = await cluster.launch({ startsAt }, api)
    expect(unlimited.maxLifetimeSeconds).toBe(600)
    const longer = await cluster.launch({ startsAt, maxLifetimeSeconds: 3600 }, api)
    expect(longer.maxLifetimeSeconds).toBe(600)
    expect((await person.listAccessTokens()).items.find(one => one.id === id)?.sessions).toBe(2)
    expect(await refused(cluster.launch({ startsAt }, api))).toEqual(['over_person_limit', 'token_sessions'])
    await cluster.launch({ startsAt }, person)
    await api.deleteSession({ params: { id: longer.id } })
    await cluster.launch({ startsAt }, api)
  })

  test('keep the bound of their token when somebody extends them, and count when they are started again', async () => {
    await cluster.join()
    const { api } = await tokenWith(['launch', 'read'], { budget: { sessions: 1, sessionSeconds: 600 } })
    const { id } = await cluster.launch({}, api)
    await cluster.reach(id, 'RUNNING')
    expect((await refused(person.extendSession({ params: { id }, body: { seconds: 3600 } })))[0]).toBe(
      'extension_refused',
    )
    await api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    const again = await api.restartSession({ params: { id }, body: {} })
    expect(await refused(cluster.launch({}, api))).toEqual(['over_person_limit', 'token_sessions'])
    await api.deleteSession({ params: { id: again.id } })
  })

  describe('with GPU hours', () => {
    const withGpus = { capacity: { cpu: 8000, mem: 2 ** 34, 'cuda.device': 4 }, devices: gpus(4) }
    const two = { cpu: '1', mem: '256m', 'cuda.device': '2' }
    const startsAt = new Date(Date.now() + 86_400_000).toISOString()
    const gpuHours = async (id: string) =>
      (await person.listAccessTokens()).items.find(one => one.id === id)?.gpuHours ?? NaN

    test('end before the hours do: live ones keep what they may still take, and the rest is for others', async () => {
      await cluster.join(withGpus)
      const { api, id } = await tokenWith(['launch', 'read'], { budget: { gpuHours: 10 } })
      const hour = await cluster.launch({ startsAt, resources: two, maxLifetimeSeconds: 3_600 }, api)
      expect(await gpuHours(id)).toBe(2)
      const without = await cluster.launch({ startsAt, maxLifetimeSeconds: 86_400 }, api)
      expect(without.maxLifetimeSeconds).toBe(86_400)
      // Eight hours of one GPU are left: four of two.
      const rest = await cluster.launch({ startsAt, resources: two }, api)
      expect(rest.maxLifetimeSeconds).toBe(4 * 3_600)
      expect(await gpuHours(id)).toBe(10)
      expect(await refused(cluster.launch({ startsAt, resources: two }, api))).toEqual([
        'over_person_limit',
        'token_gpu_hours',
      ])
      await cluster.launch({ startsAt }, api)
      await cluster.launch({ startsAt, resources: two }, person)
      await api.deleteSession({ params: { id: hour.id } })
      await cluster.reach(hour.id, 'CANCELLED')
      const next = await cluster.launch({ startsAt, resources: { ...two, 'cuda.device': '1' }, count: 2 }, api)
      expect(next.maxLifetimeSeconds).toBe(3_600)
      expect(await gpuHours(id)).toBe(10)
    })

    test('of one token that are asked for at once never take more together', async () => {
      const { api, id } = await tokenWith(['launch', 'read'], { budget: { gpuHours: 1 } })
      await cluster.join(withGpus)
      const all = await Promise.allSettled(
        Array.from({ length: 4 }, () => cluster.launch({ startsAt, resources: two }, api)),
      )
      expect(all.filter(one => one.status === 'fulfilled')).toHaveLength(1)
      expect(await gpuHours(id)).toBe(1)
    })

    test('count for what they took once they have ended, and when their records are deleted', async () => {
      await cluster.join(withGpus)
      const { api, id } = await tokenWith(['launch', 'read'], { budget: { gpuHours: 10 } })
      const session = await cluster.launch({ resources: two, maxLifetimeSeconds: 3_600 }, api)
      await cluster.reach(session.id, 'RUNNING')
      expect(await gpuHours(id)).toBe(2)
      const longer = { params: { id: session.id }, body: { seconds: 8 * 3_600 } }
      expect((await refused(person.extendSession(longer)))[0]).toBe('extension_refused')
      await person.extendSession({ ...longer, body: { seconds: 3 * 3_600 } })
      expect(await gpuHours(id)).toBe(8)
      await api.deleteSession({ params: { id: session.id } })
      await cluster.reach(session.id, 'TERMINATED')
      await using store = await openToRead({ ...cluster.source, log: silentLog })
      const { db } = store
      const past = sql`timestamptz '2026-01-01 12:00'`
      const minutes = sql`${past} + interval '90 minutes'`
      await sql`update sessions set started_at = ${past}, ended_at = ${minutes} where id = ${session.id}::uuid`.execute(
        db,
      )
      await sql`update kernels set ended_at = ${minutes} where session_id = ${session.id}::uuid`.execute(db)
      expect(await gpuHours(id)).toBe(3)
      await sql`delete from sessions where id = ${session.id}::uuid`.execute(db)
      expect(await gpuHours(id)).toBe(3)
      const rest = await cluster.launch({ startsAt, resources: two }, api)
      expect(rest.maxLifetimeSeconds).toBe(3.5 * 3_600)
    })
  })

  test('have no dotfiles, start-up script and dot folders of their owner, which nobody with a token reads or writes', async () => {
    const agent = await cluster.join()
    await person.putDotfile({ body: { path: '.netrc', content: 'secret', mode: '600' } })
    await person.setBootstrapScript({ body: { script: 'export TOKEN=secret' } })
    const { id: dot } = await person.createFolder({ body: { name: '.local' } })
    const { api } = await tokenWith(TOKEN_SCOPES)
    const { id } = await cluster.launch({}, api)
    await cluster.reach(id, 'RUNNING')
    const spec = agent.requests('create_kernel').at(-1)?.spec
    expect([spec?.dotfiles, spec?.bootstrapScript, spec?.folders]).toEqual([undefined, undefined, undefined])
    const no = ['forbidden', 'no_dot_folder_by_token']
    expect(await refused(cluster.launch({ folders: [{ folder: '.local' }] }, api))).toEqual(no)
    expect(await refused(api.createFolder({ body: { name: '.config' } }))).toEqual(no)
    expect(await refused(api.listFiles({ params: { id: dot } }))).toEqual(no)
    expect(await refused(api.makeDirectory({ params: { id: dot }, body: { path: 'lib' } }))).toEqual(no)
  })

  test('take neither command nor variables along into the owner’s session, which has dotfiles, unless the owner says so', async () => {
    const agent = await cluster.join()
    const owner = await cluster.addUser('again@localhost')
    await owner.putDotfile({ body: { path: '.netrc', content: 'secret', mode: '600' } })
    const { api } = await tokenWith(['launch', 'read'], {}, owner)
    const wanted = { startupCommand: 'cat ~/.netrc', environ: { BASH_ENV: '/x' } }
    const { id } = await cluster.launch(wanted, api)
    await cluster.reach(id, 'RUNNING')
    expect((await api.getSession({ params: { id } })).launchedBy).toBe(null)
    expect((await owner.getSession({ params: { id } })).launchedBy).toBe('access token')
    await api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    const startAgain = async (by: ApiClient, body: { keepCommand?: boolean }) => {
      const next = await by.restartSession({ params: { id }, body })
      await cluster.reach(next.id, 'RUNNING')
      const { spec } = agent.requests('create_kernel').at(-1) ?? {}
      await by.deleteSession({ params: { id: next.id } })
      await cluster.reach(next.id, 'TERMINATED')
      return [
        spec?.startupCommand ?? null,
        spec?.environ['BASH_ENV'] ?? null,
        spec?.dotfiles?.map(({ path }) => path) ?? [],
      ]
    }
    expect(await startAgain(api, {})).toEqual(['cat ~/.netrc', '/x', []])
    expect(await refused(owner.restartSession({ params: { id }, body: {} }))).toEqual(['bad_request', 'image_of_other'])
    expect(await startAgain(owner, { keepCommand: true })).toEqual(['cat ~/.netrc', '/x', ['.netrc']])
    expect(await startAgain(owner, {})).toEqual([null, null, ['.netrc']])
  })

  test('get no dot folder while they run, by adding it or by a new name of a folder that they mount', async () => {
    await joinWithStorage()
    const { id: dot } = await person.createFolder({ body: { name: '.added' } })
    const { id: plain } = await person.createFolder({ body: { name: 'plain' } })
    const { api } = await tokenWith(['read', 'launch', 'files'])
    const { id } = await cluster.launch({ folders: [{ folder: plain }] }, api)
    await cluster.reach(id, 'RUNNING')
    await expect.poll(async () => (await person.getSession({ params: { id } })).foldersFixed).toBeNull()
    expect(await refused(person.addSessionFolder({ params: { id }, body: { folder: dot } }))).toEqual(refusedDot)
    const rename = () => person.updateFolder({ params: { id: plain }, body: { name: '.plain' } })
    expect(await refused(rename())).toEqual(['folder_shared', 'folder_dot_used_by_others'])
    await api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    expect((await rename()).name).toBe('.plain')
  })

  test('that wait are cancelled once their token has ended or expired, and the owner may start them again', async () => {
    await cluster.join()
    const [ended, expired, lasting] = [
      await tokenWith(['launch', 'read']),
      await tokenWith(['launch', 'read'], { name: 'expired' }),
      await tokenWith(['launch', 'read']),
    ]
    const startsAt = new Date(Date.now() + 86_400_000).toISOString()
    const launched = [ended, expired, lasting].map(({ api }) => cluster.launch({ startsAt }, api))
    const [first, second, third] = await Promise.all(launched)
    const { id: running } = await cluster.launch({}, ended.api)
    await cluster.reach(running, 'RUNNING')
    await using store = await openToRead({ ...cluster.source, log: silentLog })
    await sql`update logins set ends_at = now() - interval '1 second' where id = ${expired.id}::uuid`.execute(store.db)
    await person.endAccessToken({ params: { id: ended.id } })
    for (const id of [first?.id, second?.id]) {
      expect((await cluster.reach(SessionId.parse(id), 'CANCELLED')).reason).toMatchObject({
        code: 'token_ended',
        cause: 'token_ended',
      })
    }
    for (const [id, status] of [
      [third?.id, 'PENDING'],
      [running, 'RUNNING'],
    ] as const)
      expect((await person.getSession({ params: { id: SessionId.parse(id) } })).status).toBe(status)
    await cluster.launch({ automount: false }, person).then(({ id }) => cluster.reach(id, 'RUNNING'))
    const again = await person.restartSession({ params: { id: SessionId.parse(first?.id) } })
    expect(again.launchedBy).toBe(null)
  })

  test('get no answer that their owner has got by the same idempotency key', async () => {
    await cluster.join()
    const { token } = await tokenWith(['launch', 'read'])
    const { token: other } = await tokenWith(['launch', 'read'])
    const body = { image: PYTHON.references[0], startsAt: new Date(Date.now() + 86_400_000).toISOString() }
    const launch = (authorization: string) =>
      rawRequest(`${cluster.url}/api/v1/sessions`, {
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${authorization}`, 'idempotency-key': 'nightly' },
      })
    const replies = [await launch(token), await launch(token), await launch(other)]
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 422])
  })

  test('mount folders only by a token that may use files', async () => {
    await cluster.join()
    const { id: folder } = await person.createFolder({ body: { name: 'data' } })
    await person.createFolder({ body: { name: '.cache' } })
    const startsAt = new Date(Date.now() + 86_400_000).toISOString()
    const { api } = await tokenWith(['launch', 'read'])
    const folders = [{ folder }]
    expect(await refused(cluster.launch({ startsAt, folders }, api))).toEqual(['forbidden', 'token_scope'])
    expect((await cluster.launch({ startsAt }, api)).folders).toEqual([])
    const { api: both } = await tokenWith(['launch', 'read', 'files'])
    expect((await cluster.launch({ startsAt, folders }, both)).folders.map(({ name }) => name)).toEqual(['data'])
  })
})

/** Calls a route with objects that do not exist, and with no body: rights are checked before both. */
function send({ method, path }: RouteSpec, token: string): Promise<RawReply> {
  const filled = path.replaceAll(/:\w+/g, '00000000-0000-7000-8000-000000000000')
  return rawRequest(`${cluster.url}${filled}`, { method, headers: { authorization: `Bearer ${token}` } })
}

/** Status of the answer to a request for a terminal. */
async function terminal(id: string, token: string): Promise<number> {
  const reply = await rawRequest(`${cluster.url}/api/v1/sessions/${id}/terminal?name=t1&cols=80&rows=24`, {
    headers: {
      authorization: `Bearer ${token}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  })
  return reply.status
}
