import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isFinished, type Session, type SessionId, type SessionStatus } from '#manager/contract'
import { aSession, idOf } from '../../testing/a-session.ts'
import { createSessionSync } from './session-sync.ts'
import { type ListName } from './sync-plan.ts'

const PAGE = 3
const BATCH = 2
const SESSIONS = 12
const LISTS: readonly ListName[] = ['live', 'finished']

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const newestFirst = (sessions: Iterable<Session>) => [...sessions].toSorted((a, b) => (a.id < b.id ? 1 : -1))

/** A page over a server whose answers contain the state at the time of the request, and arrive in any order. */
function aPage(arrive: <T>(answer: T) => Promise<T>) {
  const server = new Map<SessionId, Session>()
  const held = new Map<SessionId, Session>()
  const requests: string[] = []
  let inFlight = 0
  let mostInFlight = 0

  async function ask<T>(what: string, answer: () => T, signal?: AbortSignal): Promise<T> {
    requests.push(what)
    mostInFlight = Math.max(mostInFlight, (inFlight += 1))
    try {
      const said = await arrive(answer())
      signal?.throwIfAborted()
      return said
    } finally {
      inFlight -= 1
    }
  }
  const put = (sessions: readonly Session[]) => {
    for (const session of sessions) {
      if ((held.get(session.id)?.version ?? -1) <= session.version) held.set(session.id, session)
    }
  }
  const sync = createSessionSync({
    held,
    batchSize: BATCH,
    async fetchList(list, told) {
      for (let cursor: SessionId | undefined, more = true; more;) {
        const after = cursor
        const page = await ask(`list ${list}`, () => {
          const all = newestFirst(server.values()).filter(
            ({ id, status }) => isFinished(status) === (list === 'finished') && (!after || id < after),
          )
          const items = all.slice(0, PAGE)
          return { items, nextCursor: all.length > PAGE ? items.at(-1)!.id : null }
        })
        put(page.items)
        told(page)
        cursor = page.nextCursor ?? undefined
        more = page.nextCursor !== null
      }
    },
    async fetchIds(ids, signal) {
      const there = await ask(`ids ${ids.length}`, () => ids.flatMap(id => server.get(id) ?? []), signal)
      put(there)
      for (const id of ids) if (!there.some(session => session.id === id)) held.delete(id)
    },
    onListFailed: () => undefined,
    onRound: () => undefined,
  })
  return { server, held, requests, sync, mostInFlight: () => mostInFlight }
}

type Happening =
  | { kind: 'changes'; index: number; status: SessionStatus; told: boolean }
  | { kind: 'is deleted'; index: number }
  | { kind: 'resync' }
  | { kind: 'answer' }
  | { kind: 'time'; ms: number }

const index = fc.nat(SESSIONS - 1)
const happenings = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('changes' as const),
      index,
      status: fc.constantFrom<SessionStatus[]>('PENDING', 'RUNNING', 'TERMINATED', 'ERROR'),
      told: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('is deleted' as const), index }),
    fc.record({ kind: fc.constant('resync' as const) }),
    fc.record({ kind: fc.constant('answer' as const) }),
    fc.record({ kind: fc.constant('time' as const), ms: fc.constantFrom(1, 60, 300, 1000) }),
  ),
  { maxLength: 60 },
)

test('in any order of hints, answers and resyncs, the page ends equal to the server', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), happenings, async (scheduler, list) => {
      const page = aPage(answer => scheduler.schedule(Promise.resolve(answer)))
      const { server, held, sync, requests } = page
      let version = 1
      let hints = 0
      let resyncs = 0
      const resync = () => {
        resyncs += 1
        sync.resync(LISTS)
      }
      const tell = (id: SessionId) => {
        hints += 1
        sync.hint(id, version)
      }
      const happen = async (what: Happening) => {
        switch (what.kind) {
          case 'changes':
            version += 1
            server.set(idOf(what.index), aSession(what.index, { status: what.status, version }))
            if (what.told) tell(idOf(what.index))
            // A hint that is lost is always followed by a resync.
            else resync()
            return
          case 'is deleted':
            version += 1
            if (server.delete(idOf(what.index))) tell(idOf(what.index))
            return
          case 'resync':
            resync()
            return
          case 'answer':
            if (scheduler.count() > 0) await scheduler.waitNext(1)
            return
          case 'time':
            await vi.advanceTimersByTimeAsync(what.ms)
        }
      }
      for (let each = 0; each < SESSIONS; each += 2) server.set(idOf(each), aSession(each))
      resync()
      for (const each of list) await happen(each)
      const settle = async () => {
        await vi.advanceTimersByTimeAsync(5_000)
        for (; scheduler.count() > 0; await vi.advanceTimersByTimeAsync(5_000)) await scheduler.waitIdle()
      }
      await settle()
      expect(newestFirst(held.values())).toEqual(newestFirst(server.values()))
      expect(page.mostInFlight()).toBeLessThanOrEqual(6)
      // A resync costs the pages of both lists and the leftovers; a hint at most one request.
      const pages = 2 * (1 + Math.ceil(SESSIONS / PAGE))
      expect(requests.length).toBeLessThanOrEqual(hints + resyncs * (pages + SESSIONS / BATCH + 1))
      vi.clearAllTimers()
    }),
    { numRuns: 300 },
  )
})

test('many hints cause one fetch a second, with one request for the changed sessions', async () => {
  const page = aPage(answer => Promise.resolve(answer))
  for (let each = 0; each < SESSIONS; each++) page.server.set(idOf(each), aSession(each))
  page.sync.resync(LISTS)
  await vi.advanceTimersByTimeAsync(3_000)
  page.requests.length = 0
  for (let time = 0; time < 10_000; time += 10) {
    const each = (time / 10) % SESSIONS
    page.server.set(idOf(each), aSession(each, { version: 2 + time }))
    page.sync.hint(idOf(each), 2 + time)
    await vi.advanceTimersByTimeAsync(10)
  }
  await vi.advanceTimersByTimeAsync(2_000)
  expect(newestFirst(page.held.values())).toEqual(newestFirst(page.server.values()))
  // Six requests name all twelve; four quick rounds come before the rate of one per second.
  expect(page.requests.length).toBeLessThanOrEqual(15 * (SESSIONS / BATCH))
  expect(page.requests.every(request => request.startsWith('ids'))).toBe(true)
})

test('all pages of a list arrive in one round, also during resyncs', async () => {
  const page = aPage(answer => new Promise(resolve => setTimeout(() => resolve(answer), 100)))
  for (let each = 0; each < SESSIONS; each++) page.server.set(idOf(each), aSession(each))
  page.sync.resync(['live'])
  for (let time = 0; time < 450; time += 50) {
    page.sync.resync(['live'])
    await vi.advanceTimersByTimeAsync(50)
  }
  await vi.advanceTimersByTimeAsync(60)
  expect(page.held.size).toBe(SESSIONS)
})

test('a failed request is repeated automatically', async () => {
  let isThere = false
  const page = aPage(answer => (isThere ? Promise.resolve(answer) : Promise.reject(new Error('not now'))))
  page.server.set(idOf(1), aSession(1))
  page.sync.hint(idOf(1), 1)
  await vi.advanceTimersByTimeAsync(200)
  expect(page.held.size).toBe(0)
  isThere = true
  await vi.advanceTimersByTimeAsync(1_500)
  expect(page.held.size).toBe(1)
})
