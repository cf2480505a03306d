import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { AgentId, KernelId, SessionId } from '#manager/contract'
import { type AgentRequests } from '../../../manager/agent-link/connection.ts'
import { startGrants } from '../../../manager/grants/grants.ts'
import { silentLog } from '../../../manager/log.ts'
import { type SessionChanges } from '../../../manager/sessions/changes.ts'
import { saveJoinedAgent } from '../../../manager/store/agents/agents.ts'
import { insertGrant } from '../../../manager/store/sessions/grants.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { newId, newUuid } from '../../../manager/store/new-id.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { createLogins, type LoginsDeps } from '../../../manager/users/logins.ts'
import { createPasswords } from '../../../manager/users/passwords.ts'
import { browserToken } from '../../../manager/users/secrets.ts'
import { hashToken } from '../../../manager/users/secrets.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { openTestStore } from '../../fixtures/test-store.ts'

const HOUR = 3_600_000

async function open(deps: Partial<LoginsDeps> = {}) {
  await using stack = new AsyncDisposableStack()
  const { store, ownerId: user } = stack.use(await openTestStore())
  let ahead = 0
  const now = () => Date.now() + ahead
  const secondFactor = { check: () => Promise.resolve(false) }
  const notifier = { write: () => Promise.resolve(), announce: () => Promise.resolve() }
  const passwords = createPasswords()
  const own = { store, passwords, secondFactor, notifier, log: silentLog, now, expireMs: 10 }
  const logins = stack.use(createLogins({ ...own, ...deps }))
  const ended: string[] = []
  logins.onEnd(id => ended.push(id))
  const signIn = async () => {
    const ticket = await logins.createTicket(user)
    const { credential } = await logins.signInWithTicket({ ticket, kind: 'browser', address: '::1' })
    if (credential.kind !== 'browser') throw new Error('not of a browser')
    const token = browserToken(credential.cookie, credential.originSecret)
    const login = await logins.authenticate(token)
    if (!login) throw new Error('not signed in')
    return { token, id: login.caller.loginId }
  }
  const opened = stack.move()
  return {
    store,
    user,
    logins,
    ended,
    signIn,
    goAhead: (ms: number) => void (ahead += ms),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

test('an expired sign-in ends its tunnels and streams, once', async () => {
  await using world = await open()
  const { id, token } = await world.signIn()
  world.goAhead(11 * HOUR)
  expect(await world.logins.authenticate(token, false)).toBeDefined()
  expect(world.ended).toEqual([])
  world.goAhead(2 * HOUR)
  await expect.poll(() => world.ended).toEqual([id])
  expect(await world.logins.authenticate(token, false)).toBeUndefined()
  world.goAhead(HOUR)
  expect(world.ended).toEqual([id])
})

test('a change of an account is announced in all its parts, whichever of them fails', async () => {
  const heard: string[] = []
  const hear = (topic: string) => void heard.push(topic)
  const announce = () => {
    hear('news')
    return Promise.resolve()
  }
  await using world = await open({
    onMembersLeft: () => {
      hear('members left')
      throw new Error('members')
    },
    notifier: { write: () => Promise.resolve(), announce },
    peers: { topic: name => ({ tell: () => hear(name), on: () => undefined }), onGap: () => undefined },
  })
  const { store, user, logins } = world
  const kept = await world.signIn()
  const gone = await world.signIn()
  const { ended } = world
  logins.onEnd(() => {
    hear('end')
    throw new Error('listener')
  })
  logins.onEnd(() => hear('end after the failure'))
  await store.db.updateTable('users').set({ role: 'domain_admin' }).where('id', '=', user).execute()
  await store.db.deleteFrom('logins').where('id', '=', gone.id).execute()
  const settling = logins.settle(user, { ended: [String(gone.id)], hasLeftProjects: true, news: [] })
  await expect(settling).rejects.toThrow('members')
  expect((await logins.authenticate(kept.token))?.caller.role).toBe('domain_admin')
  expect(ended).toEqual([gone.id])
  expect(heard).toEqual(['user_changed', 'members left', 'logins_ended', 'end', 'end after the failure', 'news'])
})

test('a listener that throws ends no process: those after it hear the end and the change, and the log says so', async () => {
  const topics = new Map<string, (message: never) => void>()
  const faults: unknown[] = []
  await using world = await open({
    peers: {
      topic: name => ({ tell: () => undefined, on: listener => void topics.set(name, listener) }),
      onGap: () => undefined,
    },
    log: { error: fields => void faults.push((fields as { err: Error }).err.message) },
  })
  const { id } = await world.signIn()
  const expiring = await world.signIn()
  const heard: string[] = []
  world.logins.onEnd(one => {
    throw new Error(`end of ${one}`)
  })
  world.logins.onEnd(one => heard.push(one))
  world.logins.onChange(() => {
    throw new Error('change')
  })
  world.logins.onChange(() => heard.push('change'))
  topics.get('logins_ended')?.([id] as never)
  topics.get('user_changed')?.(null as never)
  await expect.poll(() => heard.toSorted()).toEqual([id, 'change'].toSorted())
  expect(faults.toSorted()).toEqual(['change', `end of ${id}`])
  world.goAhead(13 * HOUR)
  await expect.poll(() => heard).toContain(expiring.id)
  expect(faults).toHaveLength(3)
})

/** A running session of theirs with one app. */
async function running({ store, user }: Awaited<ReturnType<typeof open>>): Promise<SessionId> {
  const sessionId = newId(SessionId)
  await insertSessions(store.db, [
    aSessionRow(user, {
      id: sessionId,
      name: 'work',
      image: 'python',
      apps: [{ name: 'echo', title: 'Echo', protocol: 'tcp', path: '/' }],
      attempt: 1,
      createdAt: new Date().toISOString(),
    }),
  ])
  const agentId = newId(AgentId)
  await saveJoinedAgent(store.db, { id: agentId, name: 'a', publicKey: 'k', resourceGroup: 'default' })
  await insertKernels(store.db, [{ id: newId(KernelId), sessionId, status: 'RUNNING', slots: {}, agentId, attempt: 1 }])
  return sessionId
}

const changes = { onApplied: () => undefined } as unknown as SessionChanges

test('renewing a grant extends its sign-in, up to its absolute end', async () => {
  await using world = await open()
  const { store, user } = world
  const { id: loginId } = await world.signIn()
  const sessionId = await running(world)
  const row = {
    id: newUuid(),
    grantHash: hashToken('grant'),
    userId: user,
    openedWith: { loginId, keypair: null },
    sessionId,
    app: 'echo',
  }
  await insertGrant(store.db, { ...row, lifetimeMs: 60_000 })
  const agents = { request: () => Promise.resolve({ inject: null }) } as unknown as AgentRequests
  await using grants = startGrants({ store, agents, changes, members: { onChanged: () => undefined }, log: silentLog })
  const endsIn = async (set: string) => {
    await sql`update logins set ${sql.raw(set)} where id = ${loginId}`.execute(store.db)
    await grants.renew('grant')
    const login = await store.db.selectFrom('logins').select('expires_at').executeTakeFirstOrThrow()
    return (login.expires_at.getTime() - Date.now()) / HOUR
  }
  expect(await endsIn(`expires_at = now() + interval '1 minute'`)).toBeGreaterThan(11.9)
  expect(await endsIn(`ends_at = now() + interval '1 hour'`)).toBeLessThan(1.01)
})

test('a user who signs out while an app starts gets no grant, with the reason', async () => {
  await using world = await open()
  const { store, user: userId, logins } = world
  const sessionId = await running(world)
  const { id: loginId } = await world.signIn()
  const agents = {
    async request() {
      await logins.end(String(loginId))
      return { inject: null }
    },
  } as unknown as AgentRequests
  await using grants = startGrants({ store, agents, changes, members: { onChanged: () => undefined }, log: silentLog })
  const caller = {
    userId,
    email: 'ada@example.org',
    role: 'user',
    domain: 'default',
    loginId,
    keypair: null,
    scopes: null,
  } as const
  await expect(grants.create(caller, sessionId, 'echo')).rejects.toMatchObject({ code: 'not_signed_in' })
})
