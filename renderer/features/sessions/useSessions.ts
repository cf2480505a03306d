import { defineStore } from 'pinia'
import { computed, ref, shallowReactive, shallowRef, triggerRef, watch } from 'vue'
import { isFinished, MOST_SESSION_IDS, type Session, type SessionId, type SessionStats } from '#manager/contract'
import { useServices } from '../../services.ts'
import { createFrameTask } from '../../ui/frame-task.ts'
import { useAccount } from '../account/useAccount.ts'
import { createSessionSync } from './session-sync.ts'
import { type ListName, type ListPage } from './sync-plan.ts'

export { type ListName } from './sync-plan.ts'
export interface ListState {
  readonly status: 'idle' | 'loading' | 'ready' | 'failed'
  readonly error: unknown
  /** Sessions on the server, of which some may not be here yet. */
  readonly total: number
  /** False while there are older ones on the server that are not here; `more` fetches them. */
  readonly complete: boolean
}

const PAGE = 500
/** Live sessions are all fetched, up to this; finished ones page by page as the reader gets there. */
const MAX_LIVE = 20_000
const IDLE: ListState = { status: 'idle', error: null, total: 0, complete: true }
const NAMES: readonly ListName[] = ['live', 'finished']
const listOf = (session: Session): ListName => (isFinished(session.status) ? 'finished' : 'live')

/** Every session this user may see, kept true by event hints. The newest version wins, whatever order answers come in. */
export const useSessions = defineStore('sessions', () => {
  const { api, events } = useServices()
  const account = useAccount()
  /** Changed in place; `commit` tells about it. */
  const byId = shallowRef(new Map<SessionId, Session>())
  /** Apart from the sessions: they come every second and must not make lists sort again. */
  const liveStats = shallowReactive(new Map<SessionId, SessionStats>())
  const lists = ref<Record<ListName, ListState>>({ live: IDLE, finished: IDLE })
  /** Where the next older page begins, and how many pages are here. */
  const ends: Record<ListName, { cursor: string | null; pages: number }> = {
    live: { cursor: null, pages: 0 },
    finished: { cursor: null, pages: 0 },
  }
  let fetchingMore = false
  /** Sessions have changed from one list to the other, or are gone, since the totals were read. */
  let moved = false
  /** Just launched from this page: shown with an accent for a moment. */
  const fresh = ref<ReadonlySet<SessionId>>(new Set())

  const sorted = computed(() => [...byId.value.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1)))
  const live = computed(() => sorted.value.filter(session => !isFinished(session.status)))
  const finished = computed(() => sorted.value.filter(session => isFinished(session.status)))

  // Everything that is derived from the sessions follows once per frame, however many answers came in it.
  const commit = createFrameTask(() => triggerRef(byId))

  function take(sessions: readonly Session[]): void {
    for (const session of sessions) {
      const known = byId.value.get(session.id)
      if (known && known.version > session.version) continue
      if (known && listOf(known) !== listOf(session)) moved = true
      byId.value.set(session.id, session)
      if (isFinished(session.status)) liveStats.delete(session.id)
      commit.soon()
    }
  }

  /** For what a person has just done: it shows at once. */
  function put(sessions: readonly Session[]): void {
    take(sessions)
    commit.now()
  }

  function remove(id: SessionId): void {
    if (!byId.value.delete(id)) return
    moved = true
    liveStats.delete(id)
    commit.soon()
  }

  const setList = (name: ListName, change: Partial<ListState>) => {
    lists.value = { ...lists.value, [name]: { ...lists.value[name], ...change } }
  }
  /** The number of sessions in a list that is not all here is only known to the server. */
  async function refreshTotals(): Promise<void> {
    if (!moved) return
    moved = false
    const partial = NAMES.filter(name => lists.value[name].status === 'ready' && !lists.value[name].complete)
    await Promise.all(
      partial.map(async name => {
        const { total } = await api.listSessions({ query: { status: name, limit: 1 } })
        setList(name, { total })
      }),
    ).catch(() => {
      // The number of before stays; the next round that moves a session asks again.
      moved = true
    })
  }

  /** The pages of a list from its newest on: all of the live ones, and as many finished ones as are here. */
  async function fetchList(name: ListName, told: (page: ListPage) => void, signal: AbortSignal): Promise<void> {
    const pages = name === 'live' ? MAX_LIVE / PAGE : Math.max(1, ends.finished.pages)
    let cursor: string | null = null
    for (let count = 1; count <= pages; count++) {
      const page: ListPage = await fetchPage(name, cursor, count, signal)
      told(page)
      cursor = page.nextCursor
      if (cursor === null) return
    }
  }

  async function fetchPage(
    name: ListName,
    cursor: string | null,
    pages: number,
    signal?: AbortSignal,
  ): Promise<ListPage> {
    const query = { status: name, limit: PAGE, ...(cursor === null ? {} : { cursor }) }
    const page = await api.listSessions({ query, ...(signal ? { signal } : {}) })
    signal?.throwIfAborted()
    take(page.items)
    ends[name] = { cursor: page.nextCursor, pages }
    const isFirst = lists.value[name].status !== 'ready'
    setList(name, { status: 'ready', error: null, total: page.total, complete: page.nextCursor === null })
    if (isFirst) commit.now()
    return page
  }

  async function fetchIds(ids: readonly SessionId[], signal: AbortSignal): Promise<void> {
    const { items } = await api.listSessions({ query: { ids: ids.join(','), limit: ids.length }, signal })
    signal.throwIfAborted()
    take(items)
    const there = new Set(items.map(({ id }) => id))
    for (const id of ids) if (!there.has(id)) remove(id)
  }

  const sync = createSessionSync({
    held: { get: id => byId.value.get(id), values: () => byId.value.values() },
    batchSize: MOST_SESSION_IDS,
    fetchList,
    fetchIds,
    onListFailed: (name, error) => setList(name, { status: 'failed', error }),
    onRound: () => {
      commit.now()
      void refreshTotals()
    },
  })

  /** Fetches a list, unless it is here: hints keep it true. Its first page shows at once. */
  async function load(name: ListName): Promise<void> {
    if (lists.value[name].status === 'ready') return
    setList(name, { status: 'loading', error: null })
    await sync.load(name)
  }

  /** The next older page, if there is one; several calls at once are one request. */
  async function more(name: ListName): Promise<void> {
    const { cursor, pages } = ends[name]
    if (cursor === null || fetchingMore) return
    fetchingMore = true
    try {
      await fetchPage(name, cursor, pages + 1)
      commit.now()
    } catch {
      // The rows that are there stay; scrolling or the button asks again.
    } finally {
      fetchingMore = false
    }
  }

  /** One session by id, from here or from the server. @throws `session_not_found`, `unavailable` */
  async function fetchOne(id: SessionId): Promise<Session> {
    const session = await api.getSession({ params: { id } })
    put([session])
    return session
  }

  const resync = () => sync.resync(NAMES.filter(name => lists.value[name].status !== 'idle'))

  events.onHint(({ topic, id, version }) => {
    if (topic === 'session' && account.state === 'signed_in') sync.hint(id as SessionId, version)
  })
  events.onResync(resync)
  // Hints that came in between were of no use: nothing could be read.
  watch(
    () => account.state,
    (now, before) => {
      if (before === 'expired' && now === 'signed_in') resync()
    },
  )

  /** Puts the end off that was warned of. @throws as the route */
  async function extend(id: SessionId): Promise<void> {
    put([await api.extendSession({ params: { id }, body: {} })])
  }

  /** Cancels or ends a session; the row changes with the answer, not before. @throws as the route */
  async function terminate(id: SessionId): Promise<void> {
    put([await api.deleteSession({ params: { id } })])
  }

  /** The same again, on its agent, with its files. @throws as the route */
  async function restart(id: SessionId): Promise<Session> {
    const next = await api.restartSession({ params: { id } })
    launched([next])
    return next
  }

  /** Sessions this page just asked for: they show at once, before any hint. */
  function launched(items: readonly Session[]): void {
    put(items)
    fresh.value = new Set(items.map(({ id }) => id))
  }

  /** Live figures for these sessions until the returned function is called; read them with `statsOf`. */
  function watchStats(ids: readonly SessionId[]): () => void {
    return events.watch(ids, (id, stats) => {
      const status = byId.value.get(id)?.status
      if (status !== undefined && !isFinished(status)) liveStats.set(id, stats)
    })
  }

  /** The newest figures known: live ones while watched, else those of the last answer. */
  function statsOf(id: SessionId): SessionStats | null {
    return liveStats.get(id) ?? byId.value.get(id)?.stats ?? null
  }

  function clear(): void {
    sync.clear()
    byId.value = new Map()
    liveStats.clear()
    lists.value = { live: IDLE, finished: IDLE }
    moved = false
    for (const name of NAMES) ends[name] = { cursor: null, pages: 0 }
  }

  return {
    byId,
    lists,
    live,
    finished,
    fresh,
    load,
    more,
    launched,
    fetchOne,
    put,
    extend,
    restart,
    terminate,
    watchStats,
    statsOf,
    clear,
  }
})
