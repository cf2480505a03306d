import { once } from 'node:events'
import { type Socket } from 'node:net'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import {
  type ApiClient,
  GRANT_HEADER,
  isAppError,
  type Session,
  type SessionId,
  type SessionPermission,
  type SessionStats,
  TERMINAL_PROTOCOL,
  TUNNEL_PROTOCOL,
  type UserId,
} from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { type EventStream, openEventStream } from '../../fixtures/event-stream.ts'
import { type MeshAgent, scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const PASSWORD = 'Their-own-pass-1'

interface Someone {
  readonly id: UserId
  readonly email: string
  readonly token: string
  readonly api: ApiClient
}

const stack = new AsyncDisposableStack()
let cluster: SessionsCluster
let agent: MeshAgent
/** Owner of the session. */
let ann: Someone
/** In the same project. */
let bob: Someone
/** In the same domain, in another project. */
let cyd: Someone
let dan: Someone
let session: Session
let groupId: NonNullable<Session['group']>['id']

beforeAll(async () => {
  cluster = stack.use(await startSessionsCluster())
  const { join } = await cluster.manager.createJoinToken()
  const home = stack.use(await temporaryDirectory()).path
  const serve = (_: unknown, socket: Socket) => {
    socket.on('error', () => undefined)
    socket.resume()
  }
  agent = stack.use(await startMeshAgent({ home, engine: scriptedEngine(), join, serve }))
  await vi.waitFor(async () => expect((await cluster.api.listImages()).items).not.toEqual([]), { timeout: 120_000 })
  const { id } = await cluster.api.createGroup({ body: { domain: 'default', name: 'others' } })
  ann = await someone('ann@example.org')
  bob = await someone('bob@example.org')
  dan = await someone('dan@example.org')
  cyd = await someone('cyd@example.org')
  await cluster.api.updateUser({ params: { id: cyd.id }, body: { groups: ['others'] } })
  expect(id).toBeDefined()
})
afterAll(() => stack.disposeAsync())

async function someone(email: string): Promise<Someone> {
  await cluster.api.createUser({
    body: { mustChangePassword: false, email, name: email.split('@', 1)[0] ?? '', password: PASSWORD },
  })
  const { token, user } = await apiOf(cluster.url).login({ body: { email, password: PASSWORD, kind: 'token' } })
  if (token === null) throw new Error('no token')
  return { id: user.id, email, token, api: apiOf(cluster.url, token) }
}

beforeEach(async () => {
  session = await cluster.launch({ environ: { SECRET: 'xyzzy' }, tags: ['thesis'] }, ann.api)
  await cluster.reach(session.id, 'RUNNING')
  groupId = session.group?.id ?? ('' as typeof groupId)
})

afterEach(async () => {
  for (const { id } of (await cluster.api.listSessions({ query: { status: 'live' } })).items) {
    await cluster.api.deleteSession({ params: { id } })
    await vi.waitFor(
      async () => {
        expect((await cluster.api.getSession({ params: { id } })).endedAt).not.toBeNull()
      },
      { timeout: 120_000 },
    )
  }
})

/** The code of the refusal, or `ok`. */
async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'ok'
  } catch (error) {
    if (isAppError(error)) return error.code
    throw error
  }
}

const at = () => ({ params: { id: session.id } })
const share = (permission: SessionPermission, { email }: Someone = bob, by: Someone = ann) =>
  by.api.shareSession({ ...at(), body: { email, permission } })
const unshare = ({ id: userId }: Someone = bob, by: Someone = ann) =>
  by.api.unshareSession({ params: { id: session.id, userId } })
const seen = async ({ api }: Someone) => (await api.listSessions()).items.find(({ id }) => id === session.id)

async function terminal({ token }: Someone, id: SessionId = session.id): Promise<WebSocket> {
  const address = `${cluster.url.replace('http', 'ws')}/api/v1/sessions/${id}/terminal?name=t1&cols=80&rows=24`
  const socket = new WebSocket(address, [TERMINAL_PROTOCOL], { headers: { authorization: `Bearer ${token}` } })
  await once(socket, 'open')
  return socket
}

async function tunnel(grant: string, id: SessionId = session.id): Promise<WebSocket> {
  const address = `${cluster.url.replace('http', 'ws')}/stream/session/${id}/tcpproxy?app=jupyter`
  const socket = new WebSocket(address, [TUNNEL_PROTOCOL], { headers: { [GRANT_HEADER]: grant } })
  await once(socket, 'open')
  return socket
}

const closed = (socket: WebSocket) => expect.poll(() => socket.readyState).toBe(WebSocket.CLOSED)
const refusedUpgrade = (opening: Promise<WebSocket>) =>
  opening.then(
    () => 'open',
    (error: unknown) => String(error),
  )

/** Everything that a member must never do, by the names of the routes. */
const managing = ({ api }: Someone): Record<string, () => Promise<unknown>> => ({
  deleteSession: () => api.deleteSession(at()),
  extendSession: () => api.extendSession({ ...at(), body: {} }),
  setSessionPriority: () => api.setSessionPriority({ ...at(), body: { priority: -1 } }),
  updateSession: () => api.updateSession({ ...at(), body: { note: 'mine now' } }),
  restartSession: () => api.restartSession(at()),
  shareSession: () => api.shareSession({ ...at(), body: { email: dan.email } }),
  listSessionShares: () => api.listSessionShares(at()),
  publishApp: () => api.publishApp({ params: { id: session.id, app: 'jupyter' }, body: { hours: 1 } }),
})
const entering = ({ api }: Someone): Record<string, () => Promise<unknown>> => ({
  getSshAccess: () => api.getSshAccess(at()),
  createGrant: () => api.createGrant({ params: { id: session.id, app: 'jupyter' } }),
  startApp: () => api.startApp({ params: { id: session.id, app: 'jupyter' }, body: {} }),
})
const codes = async (calls: Record<string, () => Promise<unknown>>) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(calls).map(async ([name, call]): Promise<[string, string]> => [name, await refusal(call())]),
    ),
  )
const all = (calls: object, code: string) => Object.fromEntries(Object.keys(calls).map(name => [name, code]))

describe('a session that is shared to be viewed', () => {
  beforeEach(() => share('view'))

  test('is in the list of the member, with its owner and without its environment, and not among their own', async () => {
    expect(await seen(bob)).toMatchObject({
      ownerEmail: ann.email,
      sharedAs: 'view',
      sharedWith: null,
      tags: ['thesis'],
    })
    expect(await seen(ann)).toMatchObject({ sharedAs: null, sharedWith: 1 })
    expect((await ann.api.getSession(at())).environ).toEqual({ SECRET: 'xyzzy' })
    const list = async (query: object) => (await bob.api.listSessions({ query })).items.map(({ id }) => id)
    expect(await list({ mine: 'true' })).toEqual([])
    expect(await list({ ids: session.id })).toEqual([session.id])
    expect(await list({ name: session.name })).toEqual([session.id])
    expect((await bob.api.getSession(at())).environ).toEqual({})
  })

  test('is open in details, timeline, figures and log', async () => {
    expect((await bob.api.getSessionLogs({ ...at(), query: {} })).text).toBe('live line\n')
    expect((await bob.api.listSessionEvents(at())).items.length).toBeGreaterThan(1)
    expect(await bob.api.getSessionStats({ ...at(), query: {} })).toHaveProperty('items')
  })

  test('is neither entered nor managed by the member', async () => {
    expect(await codes(entering(bob))).toEqual(all(entering(bob), 'forbidden'))
    expect(await codes(managing(bob))).toEqual(all(managing(bob), 'forbidden'))
    expect(await refusedUpgrade(terminal(bob))).toContain('403')
    expect(await seen(ann)).toMatchObject({ status: 'RUNNING', note: '', sharedWith: 1 })
  })

  test('does not exist for anybody else', async () => {
    for (const who of [cyd, dan]) {
      expect(await seen(who)).toBeUndefined()
      expect(await codes({ ...managing(who), ...entering(who) })).toEqual(
        all({ ...managing(who), ...entering(who) }, 'session_not_found'),
      )
      expect(await refusedUpgrade(terminal(who))).toContain('404')
    }
  })

  test('tells the member of changes and live figures, and stops with the share', async () => {
    using stream = await openEventStream(cluster.url, { token: bob.token, watch: session.id })
    // Compares versions, not the number of hints, because the start of the session may cause another one.
    const told = (of: EventStream) =>
      of.of('hint').flatMap(({ data }) => {
        const { id, version } = data as { id: string; version: number }
        return id === session.id ? [version] : []
      })
    const figures = () => stream.of('stats').length
    const { version } = await ann.api.updateSession({ ...at(), body: { note: 'see the curve' } })
    await expect.poll(() => told(stream)).toContain(version)
    const [kernelId] = [...agent.engine.containers.keys()].slice(-1)
    const stats = { ...FIGURES, at: new Date().toISOString() }
    if (!kernelId) throw new Error('no kernel')
    agent.stats([{ kernelId, stats }])
    await expect.poll(figures).toBe(1)

    const before = told(stream).length
    await unshare()
    await expect.poll(() => told(stream).length).toBeGreaterThan(before)
    using other = await openEventStream(cluster.url, { token: ann.token, watch: session.id })
    agent.stats([{ kernelId, stats }])
    await expect.poll(() => other.of('stats').length).toBe(1)
    const hidden = await ann.api.updateSession({ ...at(), body: { note: 'private' } })
    await expect.poll(() => told(other)).toContain(hidden.version)
    expect(figures()).toBe(1)
    expect(Math.max(...told(stream))).toBeLessThan(hidden.version)
  })
})

describe('a session that is shared to be used', () => {
  beforeEach(() => share('use'))

  test('opens its apps, terminals and SSH to the member, who still does not manage it', async () => {
    const access = await bob.api.getSshAccess(at())
    expect(access.privateKey).toContain('PRIVATE')
    const { grant } = await bob.api.createGrant({ params: { id: session.id, app: 'jupyter' } })
    const sockets = [await tunnel(grant), await terminal(bob)]
    expect(sockets.map(socket => socket.readyState)).toEqual([WebSocket.OPEN, WebSocket.OPEN])
    expect(await bob.api.getSession(at())).toMatchObject({ sharedAs: 'use', environ: { SECRET: 'xyzzy' } })
    expect(await codes(managing(bob))).toEqual(all(managing(bob), 'forbidden'))
    for (const socket of sockets) socket.terminate()
  })

  const ends: Record<string, () => Promise<unknown>> = {
    'the owner withdraws it': () => unshare(),
    'the owner lets the member view only': () => share('view'),
    'the member leaves': () => unshare(bob, bob),
    'an admin withdraws it': () => cluster.api.unshareSession({ params: { id: session.id, userId: bob.id } }),
    'the member is taken out of the project': () =>
      cluster.api.removeGroupMember({ params: { id: groupId, userId: bob.id } }),
    'the member is moved to another project': () =>
      cluster.api.updateUser({ params: { id: bob.id }, body: { groups: ['others'] } }),
  }
  test.each(Object.keys(ends))('ends all connections of the member when %s, and only those', async how => {
    const { grant } = await bob.api.createGrant({ params: { id: session.id, app: 'jupyter' } })
    const [own, shell, app] = [await terminal(ann), await terminal(bob), await tunnel(grant)]
    using stream = await openEventStream(cluster.url, { token: bob.token })
    try {
      await ends[how]?.()
      await closed(shell)
      await closed(app)
      expect(own.readyState).toBe(WebSocket.OPEN)
      const headers = { [GRANT_HEADER]: grant }
      expect((await rawRequest(`${cluster.url}/api/v1/grants/renew`, { method: 'POST', headers })).status).toBe(401)
      expect(await refusedUpgrade(tunnel(grant))).toContain('401')
      const left = how.endsWith('view only')
      expect(await refusedUpgrade(terminal(bob))).toContain(left ? '403' : '404')
      expect(await codes(entering(bob))).toEqual(all(entering(bob), left ? 'forbidden' : 'session_not_found'))
      expect((await seen(bob))?.sharedAs).toBe(left ? 'view' : undefined)
      await expect
        .poll(() => stream.of('hint').some(({ data }) => (data as { id: string }).id === session.id))
        .toBe(true)
    } finally {
      own.terminate()
      await cluster.api.updateUser({ params: { id: bob.id }, body: { groups: ['default'] } })
      if (how.includes('project')) expect(await seen(bob)).toBeUndefined()
    }
  })

  test('keeps the connections of a member whose other projects change', async () => {
    const shell = await terminal(bob)
    await cluster.api.updateUser({ params: { id: bob.id }, body: { groups: ['default', 'others'] } })
    await cluster.api.updateUser({ params: { id: bob.id }, body: { groups: ['default'] } })
    await share('view', dan)
    expect(await seen(bob)).toMatchObject({ sharedAs: 'use' })
    expect(shell.readyState).toBe(WebSocket.OPEN)
    shell.terminate()
  })

  test('is not shared any more once it was started again', async () => {
    await ann.api.deleteSession(at())
    await cluster.reach(session.id, 'TERMINATED')
    const next = await ann.api.restartSession(at())
    expect(next).toMatchObject({ sharedWith: 0, tags: ['thesis'] })
    expect(await refusal(bob.api.getSession({ params: { id: next.id } }))).toBe('session_not_found')
  })
})

test('a session is shared with active members of its project only, and by nobody but its owner', async () => {
  expect(await refusal(share('view', cyd))).toBe('session_member_not_found')
  expect(await refusal(share('view', { ...bob, email: 'nobody@example.org' }))).toBe('session_member_not_found')
  expect(await refusal(share('view', ann))).toBe('session_share_refused')
  await cluster.api.updateUser({ params: { id: dan.id }, body: { active: false } })
  expect(await refusal(share('view', dan))).toBe('session_member_not_found')
  await cluster.api.updateUser({ params: { id: dan.id }, body: { active: true } })
  dan = { ...dan, ...(await signedIn(dan.email)) }
  const body = { email: bob.email, permission: 'use' as const }
  expect(await refusal(cluster.api.shareSession({ ...at(), body }))).toBe('forbidden')
  expect(await refusal(bob.api.shareSession({ ...at(), body }))).toBe('session_not_found')
  expect((await ann.api.listSessionShares(at())).items).toEqual([])
  expect(await refusal(unshare())).toBe('session_member_not_found')
})

async function signedIn(email: string): Promise<{ token: string; api: ApiClient }> {
  const { token } = await apiOf(cluster.url).login({ body: { email, password: PASSWORD, kind: 'token' } })
  if (token === null) throw new Error('no token')
  return { token, api: apiOf(cluster.url, token) }
}

test('what is done with a shared session is in the audit log, with its owner', async () => {
  await share('use')
  await bob.api.createGrant({ params: { id: session.id, app: 'jupyter' } })
  const shells = [await terminal(bob), await terminal(ann)]
  for (const shell of shells) shell.terminate()
  await refusal(bob.api.deleteSession(at()))
  await unshare()
  const { items } = await cluster.api.listAuditLog({ query: { target: `session:${session.id}` } })
  const told = items.map(({ actor, actedAs, action, result, detail }) => ({ actor, actedAs, action, result, detail }))
  expect(told).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        actor: ann.email,
        action: 'shareSession',
        result: 'ok',
        detail: expect.objectContaining({ userId: bob.id, permission: 'use' }) as unknown,
      }),
      expect.objectContaining({ actor: bob.email, actedAs: ann.email, action: 'createGrant', result: 'ok' }),
      expect.objectContaining({
        actor: bob.email,
        actedAs: ann.email,
        action: 'openTerminal',
        result: 'ok',
        detail: { terminal: 't1' },
      }),
      expect.objectContaining({ actor: bob.email, actedAs: ann.email, action: 'deleteSession', result: 'forbidden' }),
      expect.objectContaining({
        actor: ann.email,
        action: 'unshareSession',
        detail: expect.objectContaining({ userId: bob.id }) as unknown,
      }),
    ]),
  )
  // The owner's own terminals are no entries.
  expect(told.filter(({ action }) => action === 'openTerminal')).toHaveLength(1)
})

describe('tags and notes', () => {
  test('are changed one by one, listed by tag, and kept when the session is started again', async () => {
    const changed = await ann.api.updateSession({ ...at(), body: { tags: ['실험/3', 'x.y'] } })
    expect(changed).toMatchObject({ tags: ['실험/3', 'x.y'], note: '' })
    expect(changed.version).toBeGreaterThan(session.version)
    await ann.api.updateSession({ ...at(), body: { note: 'first line\nsecond' } })
    expect(await seen(ann)).toMatchObject({ tags: ['실험/3', 'x.y'], note: 'first line\nsecond' })
    const tagged = async (tag: string) => (await ann.api.listSessions({ query: { tag } })).items.map(({ id }) => id)
    expect(await tagged('실험/3')).toEqual([session.id])
    expect(await tagged('실험')).toEqual([])
    expect(await tagged('thesis')).not.toContain(session.id)
    expect((await bob.api.listSessions({ query: { tag: 'x.y' } })).items).toEqual([])
  })

  const refused: Record<string, object> = {
    'with a space': { tags: ['two words'] },
    'with a comma': { tags: ['a,b'] },
    'of no characters': { tags: [''] },
    'named twice': { tags: ['x', 'x'] },
    'of 33 characters': { tags: ['x'.repeat(33)] },
    'beyond the twentieth': { tags: Array.from({ length: 21 }, (_, index) => `t${index}`) },
    'in a note with control characters': { note: 'bell \u0007' },
    'in a note that is too long': { note: 'x'.repeat(4_001) },
    'with another name of the session': { name: 'other-name' },
  }
  test('are refused if they are too long, too many, named twice or of other characters', async () => {
    const change = (body: object) => () => ann.api.updateSession({ ...at(), body })
    const calls = Object.fromEntries(Object.entries(refused).map(([how, body]) => [how, change(body)]))
    expect(await codes(calls)).toEqual(all(calls, 'bad_request'))
  })
})

const FIGURES: SessionStats = {
  at: '',
  cpuMilli: 1,
  memBytes: 1,
  memPeakBytes: 1,
  netRxBytes: 0,
  netTxBytes: 0,
  diskReadBytes: 0,
  diskWriteBytes: 0,
  scratchBytes: null,
  gpus: [],
}

describe('many sessions', () => {
  test('one person shares at most 200 live sessions with the same member; ended ones do not count', async () => {
    const startsAt = new Date(Date.now() + 30 * 86_400_000).toISOString()
    const body = { image: session.image, startsAt, count: 50 }
    const made: SessionId[] = []
    for (let index = 0; index < 4; index++) {
      made.push(...(await ann.api.createSession({ body })).items.map(({ id }) => id))
    }
    const give = (id: SessionId, { email }: Someone = bob, permission: SessionPermission = 'view') =>
      ann.api.shareSession({ params: { id }, body: { email, permission } })
    const [first = session.id, ...more] = made.slice(0, 198)
    await give(first)
    await using store = await openToRead({ ...cluster.source, log: silentLog })
    await sql`insert into session_shares (session_id, user_id, group_id, permission)
      select one, user_id, group_id, permission from session_shares, unnest(${more}::uuid[]) as one where session_id = ${first}`.execute(
      store.db,
    )
    // Two simultaneous shares must not use the last two places together with a third.
    const last = [...made.slice(198), session.id]
    const codes = await Promise.all(last.map(id => refusal(give(id))))
    expect(codes.toSorted()).toEqual(['ok', 'ok', 'session_share_refused'])
    const left = last[codes.indexOf('session_share_refused')] ?? session.id
    await expect(give(left)).rejects.toMatchObject({
      detail: { cause: 'sessions_shared_at_most', values: { limit: 200, email: bob.email }, limit: 200 },
    })
    // The rights of an existing share may change, and another member has a limit of their own.
    await give(made[0] ?? session.id, bob, 'use')
    await give(left, dan)
    await ann.api.deleteSession({ params: { id: made[1] ?? session.id } })
    await give(left)
    await sql`delete from sessions where id = any(${made}::uuid[])`.execute(store.db)
  })
})
