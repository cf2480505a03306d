// @vitest-environment happy-dom
import { beforeEach, describe, expect, test } from 'vitest'
import {
  AppError,
  isFinished,
  type ApiClient,
  type Me,
  type Session,
  type SessionDetails,
  type SessionSpec,
  type SessionStats,
} from '#manager/contract'
import { aSession, idOf, OWNER } from '../../testing/a-session.ts'
import { withServices, type TestEvents } from '../../testing/services.ts'
import { useAccount } from '../account/useAccount.ts'
import { useSessions } from './useSessions.ts'

const ME = { user: { id: OWNER } } as Me
const STATS = { cpuMilli: 500 } as SessionStats

let server: Map<string, SessionDetails>
let events: TestEvents
let calls: string[]
let answers: Partial<ApiClient>

/** A fake manager that answers the list requests. */
beforeEach(async () => {
  server = new Map()
  calls = []
  answers = {
    me: () => Promise.resolve(ME),
    listSessions: input => {
      const { status, limit = 100, cursor, ids } = input?.query ?? {}
      if (ids !== undefined) {
        calls.push(`ids ${ids}`)
        const items = ids.split(',').flatMap(id => server.get(id) ?? [])
        return Promise.resolve({ items, nextCursor: null, total: items.length })
      }
      calls.push(`list ${String(status)} ${cursor ?? ''}`.trim())
      const all = [...server.values()]
        .filter(session => isFinished(session.status) === (status === 'finished'))
        .toSorted((a, b) => (a.id < b.id ? 1 : -1))
      const start = Number(cursor ?? 0)
      const end = start + Number(limit)
      const nextCursor = end < all.length ? String(end) : null
      return Promise.resolve({ items: all.slice(start, end), nextCursor, total: all.length })
    },
    getSession: ({ params }) => {
      calls.push(`get ${params.id}`)
      const session = server.get(params.id)
      return session ? Promise.resolve(session) : Promise.reject(new AppError('session_not_found'))
    },
    deleteSession: ({ params }) => {
      const session = server.get(params.id)!
      return Promise.resolve({ ...session, status: 'TERMINATING', version: session.version + 1 } as Session)
    },
  }
  ;({ events } = withServices(answers))
  await useAccount().begin()
})
const has = (...sessions: SessionDetails[]) => sessions.forEach(session => server.set(session.id, session))

describe('the store of sessions', () => {
  test('every page of live sessions is fetched, finished ones only on request', async () => {
    has(...Array.from({ length: 1100 }, (_, index) => aSession(index)))
    has(...Array.from({ length: 700 }, (_, index) => aSession(5000 + index, { status: 'TERMINATED' })))
    const store = useSessions()
    await Promise.all([store.load('live'), store.load('finished')])
    expect(store.live).toHaveLength(1100)
    expect(store.finished).toHaveLength(500)
    expect(store.lists.finished).toMatchObject({ total: 700, complete: false })
    await Promise.all([store.more('finished'), store.more('finished')])
    expect(store.finished).toHaveLength(700)
    expect(calls.filter(call => call.startsWith('list finished'))).toHaveLength(2)
  })

  test('a hint fetches a newer version, several hints once, and a known version not at all', async () => {
    has(aSession(1), aSession(2))
    const store = useSessions()
    await store.load('live')
    calls = []
    server.set(idOf(1), aSession(1, { status: 'TERMINATED', version: 3 }))
    events.hint({ topic: 'session', id: idOf(1), version: 2 })
    events.hint({ topic: 'session', id: idOf(1), version: 3 })
    events.hint({ topic: 'session', id: idOf(2), version: 1 })
    await expect.poll(() => store.finished.map(({ id }) => id)).toEqual([idOf(1)])
    expect(calls).toEqual([`ids ${idOf(1)}`])
    expect(store.live.map(({ id }) => id)).toEqual([idOf(2)])
  })

  test('many changes at once need few requests', async () => {
    const store = useSessions()
    await store.load('live')
    calls = []
    has(...Array.from({ length: 250 }, (_, index) => aSession(index)))
    for (const session of server.values()) events.hint({ topic: 'session', id: session.id, version: 1 })
    await expect.poll(() => store.live).toHaveLength(250)
    expect(calls.map(call => call.split(/[ ,]/).length - 1)).toEqual([100, 100, 50])
  })

  test('after a resync every page is fetched again, and sessions that no list returned by their ids', async () => {
    has(...Array.from({ length: 1100 }, (_, index) => aSession(index)))
    const store = useSessions()
    await Promise.all([store.load('live'), store.load('finished')])
    calls = []
    // Half of them end while no hint comes through; the finished list has one page of them.
    for (let index = 0; index < 1100; index += 2) {
      server.set(idOf(index), aSession(index, { status: 'TERMINATED', version: 2 }))
    }
    events.resync()
    events.resync()
    await expect.poll(() => store.live).toHaveLength(550)
    expect(store.finished).toHaveLength(550)
    expect(calls.slice(0, 3).toSorted()).toEqual(['list finished', 'list live', 'list live 500'])
    const byIds = calls.filter(call => call.startsWith('ids'))
    expect(byIds.map(call => call.split(/[ ,]/).length - 1)).toEqual([50])
    expect(store.lists.finished).toMatchObject({ total: 550, complete: false })
  })

  test('the number of finished sessions grows when a session ends, although not all of them are loaded', async () => {
    has(aSession(9000), ...Array.from({ length: 700 }, (_, index) => aSession(index, { status: 'TERMINATED' })))
    const store = useSessions()
    await Promise.all([store.load('live'), store.load('finished')])
    calls = []
    server.set(idOf(9000), aSession(9000, { status: 'TERMINATED', version: 2 }))
    events.hint({ topic: 'session', id: idOf(9000), version: 2 })
    await expect.poll(() => store.lists.finished.total).toBe(701)
    expect(calls).toEqual([`ids ${idOf(9000)}`, 'list finished'])
  })

  test('an older version never replaces a newer one, in any order of answers', async () => {
    const store = useSessions()
    store.put([aSession(1, { version: 5, status: 'TERMINATING' })])
    store.put([aSession(1, { version: 4, status: 'RUNNING' })])
    expect(store.live[0]?.status).toBe('TERMINATING')
    await Promise.resolve()
  })

  test('sessions that are gone after a resync are dropped', async () => {
    has(aSession(1), aSession(2))
    const store = useSessions()
    await store.load('live')
    server.delete(idOf(1))
    events.resync()
    await expect.poll(() => store.live.map(({ id }) => id)).toEqual([idOf(2)])
  })

  test('the rows stay, with an error, when the manager cannot be reached', async () => {
    has(aSession(1))
    const store = useSessions()
    await store.load('live')
    const failing = withServices({ ...answers, listSessions: () => Promise.reject(new AppError('unavailable')) })
    await useAccount().begin()
    const second = useSessions(failing.pinia)
    await second.load('live')
    expect(second.lists.live).toMatchObject({ status: 'failed', error: { code: 'unavailable' } })
    expect(store.live).toHaveLength(1)
  })

  test('figures of watched live sessions are kept, and dropped when they end', async () => {
    has(aSession(1))
    const store = useSessions()
    await store.load('live')
    const stop = store.watchStats([idOf(1)])
    events.stats(idOf(1), STATS)
    expect(store.statsOf(idOf(1))).toEqual(STATS)
    store.put([aSession(1, { status: 'TERMINATED', version: 2 })])
    expect(store.statsOf(idOf(1))).toBeNull()
    stop()
    expect(events.watched()).toEqual([])
  })

  test('an answer that is newer than the last live figures is shown', async () => {
    const figures = (second: number) => ({ ...STATS, at: `2026-11-20T12:00:0${second}.000Z` })
    has(aSession(1))
    const store = useSessions()
    await store.load('live')
    const stop = store.watchStats([idOf(1)])
    events.stats(idOf(1), figures(2))
    stop()
    store.put([aSession(1, { stats: figures(1), version: 2 })])
    expect(store.statsOf(idOf(1))).toEqual(figures(2))
    store.put([aSession(1, { stats: figures(3), version: 3 })])
    expect(store.statsOf(idOf(1))).toEqual(figures(3))
  })

  test.each(['launch', 'restart'] as const)('the answer of %s is shown', async name => {
    const createSession = () => Promise.resolve({ items: [aSession(1)], notices: [] })
    withServices({ ...answers, createSession, restartSession: () => Promise.resolve(aSession(1)) })
    await useAccount().begin()
    const store = useSessions()
    const ask = () => (name === 'launch' ? store.launch({} as SessionSpec) : store.restart(idOf(1)))
    await ask()
    expect([...store.byId.keys()]).toEqual([idOf(1)])
    expect([...store.fresh]).toEqual([idOf(1)])
  })

  test('a termination shows the answer of the manager', async () => {
    has(aSession(1))
    const store = useSessions()
    await store.load('live')
    await store.terminate(idOf(1))
    expect(store.live[0]?.status).toBe('TERMINATING')
  })
})

describe('the account', () => {
  test('it is kept when the sign-in ends, and continues when another tab signs in again', async () => {
    const account = useAccount()
    expect(account.state).toBe('signed_in')
    events.setState('signed_out')
    await expect.poll(() => account.state).toBe('expired')
    expect(account.user?.id).toBe(OWNER)
    events.setState('live')
    await expect.poll(() => account.state).toBe('signed_in')
  })

  test('after a renewed sign-in, changes whose hints were missed are fetched', async () => {
    has(aSession(1))
    const store = useSessions()
    await store.load('live')
    events.setState('signed_out')
    await expect.poll(() => useAccount().state).toBe('expired')
    has(aSession(2))
    events.hint({ topic: 'session', id: idOf(2), version: 1 })
    events.setState('live')
    await expect.poll(() => store.live).toHaveLength(2)
  })

  test('a manager that does not answer is shown as such, without asking for a password', async () => {
    withServices({ me: () => Promise.reject(new AppError('unavailable')) })
    const account = useAccount()
    await account.begin()
    expect(account.state).toBe('unknown')
    expect(account.startError).toMatchObject({ code: 'unavailable' })
  })
})
