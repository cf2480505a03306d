import { defineStore } from 'pinia'
import { computed, ref, shallowReactive, shallowRef, triggerRef, watch } from 'vue'
import { isAppError, isFinished, type Session, type SessionId, type SessionStats } from '#manager/contract'
import { useServices } from '../../services.ts'
import { useAccount } from '../account/useAccount.ts'

export type ListName = 'live' | 'finished'
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
/** With more changes than this at once, one list request is cheaper than many single ones. */
const MANY = 25
const IDLE: ListState = { status: 'idle', error: null, total: 0, complete: true }

/** Every session this user may see, kept true by event hints. The newest version wins, whatever order answers come in. */
export const useSessions = defineStore('sessions', () => {
  const { api, events } = useServices()
  const account = useAccount()
  const byId = shallowRef(new Map<SessionId, Session>())
  /** Apart from the sessions: they come every second and must not make lists sort again. */
  const liveStats = shallowReactive(new Map<SessionId, SessionStats>())
  const lists = ref<Record<ListName, ListState>>({ live: IDLE, finished: IDLE })
  const changed = new Map<SessionId, number>()
  let flushing: ReturnType<typeof setTimeout> | undefined
  const rounds: Record<ListName, number> = { live: 0, finished: 0 }
  const cursors: Record<ListName, string | null> = { live: null, finished: null }
  let fetchingMore = false
  /** Just launched from this page: shown with an accent for a moment. */
  const fresh = ref<ReadonlySet<SessionId>>(new Set())

  const sorted = computed(() => [...byId.value.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1)))
  const live = computed(() => sorted.value.filter(session => !isFinished(session.status)))
  const finished = computed(() => sorted.value.filter(session => isFinished(session.status)))

  function put(sessions: readonly Session[]): void {
    let any = false
    for (const session of sessions) {
      const known = byId.value.get(session.id)
      if (known && known.version > session.version) continue
      byId.value.set(session.id, session)
      if (isFinished(session.status)) liveStats.delete(session.id)
      any = true
    }
    if (any) triggerRef(byId)
  }

  function remove(ids: Iterable<SessionId>): void {
    for (const id of ids) {
      byId.value.delete(id)
      liveStats.delete(id)
    }
    triggerRef(byId)
  }

  const setList = (name: ListName, change: Partial<ListState>) => {
    lists.value = { ...lists.value, [name]: { ...lists.value[name], ...change } }
  }

  /** Fetches a list from its newest on; the first page shows at once. A newer call ends an older one. */
  async function load(name: ListName): Promise<void> {
    const round = (rounds[name] += 1)
    if (lists.value[name].status !== 'ready') setList(name, { status: 'loading', error: null })
    const before = new Set((name === 'live' ? live : finished).value.map(session => session.id))
    cursors[name] = null
    try {
      await nextPage(name, round, before)
      // What the list should have and has not either moved to the other list or is gone.
      if (round === rounds[name] && lists.value[name].complete && before.size > 0) await refetch([...before])
    } catch (error) {
      if (round === rounds[name]) setList(name, { status: 'failed', error })
    }
  }

  async function nextPage(name: ListName, round: number, before?: Set<SessionId>): Promise<void> {
    for (let count = 0; count < MAX_LIVE; count += PAGE) {
      const cursor = cursors[name]
      const page = await api.listSessions({ query: { status: name, limit: PAGE, ...(cursor ? { cursor } : {}) } })
      if (round !== rounds[name]) return
      put(page.items)
      for (const session of page.items) before?.delete(session.id)
      cursors[name] = page.nextCursor
      setList(name, { status: 'ready', error: null, total: page.total, complete: page.nextCursor === null })
      if (page.nextCursor === null || name === 'finished') return
    }
  }

  /** The next older page, if there is one; several calls at once are one request. */
  async function more(name: ListName): Promise<void> {
    if (cursors[name] === null || fetchingMore) return
    fetchingMore = true
    try {
      await nextPage(name, rounds[name])
    } catch {
      // The rows that are there stay; scrolling or the button asks again.
    } finally {
      fetchingMore = false
    }
  }

  async function refetch(ids: readonly SessionId[]): Promise<void> {
    await Promise.all(
      ids.map(async id => {
        try {
          put([await api.getSession({ params: { id } })])
        } catch (error) {
          if (isAppError(error) && error.code === 'session_not_found') remove([id])
          // Anything else: the old row stays until the next hint or resync.
        }
      }),
    )
  }

  /** One session by id, from here or from the server. @throws `session_not_found`, `unavailable` */
  async function fetchOne(id: SessionId): Promise<Session> {
    const session = await api.getSession({ params: { id } })
    put([session])
    return session
  }

  async function flush(): Promise<void> {
    flushing = undefined
    const stale = [...changed].filter(([id, version]) => (byId.value.get(id)?.version ?? -1) < version)
    changed.clear()
    if (stale.length > MANY) await reload()
    else await refetch(stale.map(([id]) => id))
  }

  async function reload(): Promise<void> {
    const loaded = (['live', 'finished'] as const).filter(name => lists.value[name].status !== 'idle')
    await Promise.all(loaded.map(load))
  }

  events.onHint(({ topic, id, version }) => {
    if (topic !== 'session' || account.state !== 'signed_in') return
    changed.set(id as SessionId, Math.max(version, changed.get(id as SessionId) ?? 0))
    // Several transitions of a launch arrive together: one request for them.
    flushing ??= setTimeout(() => void flush(), 60)
  })
  events.onResync(() => void reload())
  // Hints that came in between were of no use: nothing could be read.
  watch(
    () => account.state,
    (now, before) => {
      if (before === 'expired' && now === 'signed_in') void reload()
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
    byId.value = new Map()
    liveStats.clear()
    lists.value = { live: IDLE, finished: IDLE }
  }

  return {
    byId,
    lists,
    live,
    finished,
    fresh,
    load,
    more,
    reload,
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
