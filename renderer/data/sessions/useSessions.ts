import { defineStore } from 'pinia'
import { computed, ref, shallowReactive, shallowRef, triggerRef, watch } from 'vue'
import {
  type ApiClient,
  type FolderId,
  type FolderMountSpec,
  type Notice,
  type SessionRestart,
  isFinished,
  MOST_SESSION_IDS,
  type Session,
  type SessionId,
  type SessionSpec,
  type SessionStats,
} from '#manager/contract'
import { useServices } from '../../services.ts'
import { createFrameTask } from '../../ui/frame-task.ts'
import { useAccount } from '../account/useAccount.ts'
import { createSessionSync } from './session-sync.ts'
import { type ListName, type ListPage } from './sync-plan.ts'

export { type ListName } from './sync-plan.ts'
export interface ListState {
  readonly status: 'idle' | 'loading' | 'ready' | 'failed'
  readonly error: unknown
  /** Number of sessions on the server; some of them may not be loaded yet. Null until it is known. */
  readonly total: number | null
  /** False while the server has older sessions that are not loaded; `more` fetches them. */
  readonly complete: boolean
}

type LaunchAnswer = Awaited<ReturnType<ApiClient['createSession']>>
interface RestartAnswer {
  readonly session: Session
  readonly notices: readonly Notice[]
}

const PAGE = 500
/** Live sessions are all fetched, up to this number; finished ones page by page as the user scrolls to them. */
const MAX_LIVE = 20_000
const IDLE: ListState = { status: 'idle', error: null, total: null, complete: true }
const NAMES: readonly ListName[] = ['live', 'finished', 'failed']
const ALL_IDLE: Readonly<Record<ListName, ListState>> = { live: IDLE, finished: IDLE, failed: IDLE }
const listOf = (session: Session): ListName => (isFinished(session.status) ? 'finished' : 'live')

/** All sessions that this user may see, kept current by event hints. The newest version wins, in whatever order answers arrive. */
export const useSessions = defineStore('sessions', () => {
  const { api, events } = useServices()
  const account = useAccount()
  /** Changed in place; `commit` triggers the watchers. */
  const byId = shallowRef(new Map<SessionId, Session>())
  /** Kept apart from the sessions: figures arrive every second and must not make lists sort again. */
  const liveStats = shallowReactive(new Map<SessionId, SessionStats>())
  const lists = ref<Record<ListName, ListState>>(ALL_IDLE)
  /** Cursor of the next older page, and the number of loaded pages. */
  const ends: Record<ListName, { cursor: string | null; pages: number }> = {
    live: { cursor: null, pages: 0 },
    finished: { cursor: null, pages: 0 },
    failed: { cursor: null, pages: 0 },
  }
  const fetchingMore = new Set<ListName>()
  /** True if sessions have moved to the other list, or are gone, since the totals were read. */
  let moved = false
  /** Sessions just launched from this page: shown with an accent for a moment. */
  const fresh = ref<ReadonlySet<SessionId>>(new Set())

  const sorted = computed(() => [...byId.value.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1)))
  const live = computed(() => sorted.value.filter(session => !isFinished(session.status)))
  const finished = computed(() => sorted.value.filter(session => isFinished(session.status)))

  // All state derived from the sessions updates once per frame, however many answers arrived in it.
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

  /** Adds the result of a person's action: it shows at once. */
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
  /** Asks for the number of sessions of a list, which need not be loaded. @throws as the route */
  async function count(name: ListName): Promise<void> {
    const { total } = await api.listSessions({ query: { status: name, limit: 1 } })
    setList(name, { total })
  }
  /** Asks for the totals of partly loaded lists, which only the server knows. */
  async function refreshTotals(): Promise<void> {
    if (!moved) return
    moved = false
    const isWhole = ({ status, complete }: ListState) => status === 'ready' && complete
    const partial = NAMES.filter(name => lists.value[name].total !== null && !isWhole(lists.value[name]))
    await Promise.all(partial.map(count)).catch(() => {
      // Keep the old totals; the next round asks again.
      moved = true
    })
  }

  /** Fetches the pages of a list from its newest on: all live sessions, and as many pages of ended ones as are loaded. */
  async function fetchList(name: ListName, told: (page: ListPage) => void): Promise<void> {
    const pages = name === 'live' ? MAX_LIVE / PAGE : Math.max(1, ends[name].pages)
    let cursor: string | null = null
    for (let count = 1; count <= pages; count++) {
      const page: ListPage = await fetchPage(name, cursor, count)
      told(page)
      cursor = page.nextCursor
      if (cursor === null) return
    }
  }

  async function fetchPage(name: ListName, cursor: string | null, pages: number): Promise<ListPage> {
    const query = { status: name, limit: PAGE, ...(cursor === null ? {} : { cursor }) }
    const page = await api.listSessions({ query })
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

  /** Fetches a list unless it is loaded: hints keep it current. The first page shows at once. */
  async function load(name: ListName): Promise<void> {
    if (lists.value[name].status === 'ready') return
    setList(name, { status: 'loading', error: null })
    await sync.load(name)
  }

  /** Fetches the next older page, if there is one; simultaneous calls make one request. */
  async function more(name: ListName): Promise<void> {
    const { cursor, pages } = ends[name]
    if (cursor === null || fetchingMore.has(name)) return
    fetchingMore.add(name)
    try {
      await fetchPage(name, cursor, pages + 1)
      commit.now()
    } catch {
      // Loaded rows stay; scrolling or the button asks again.
    } finally {
      fetchingMore.delete(name)
    }
  }

  /** Fetches one session by id from the server. @throws `session_not_found`, `unavailable` */
  async function fetchOne(id: SessionId): Promise<Session> {
    return await shown(api.getSession({ params: { id } }))
  }

  async function shown(answer: Promise<Session>): Promise<Session> {
    const session = await answer
    put([session])
    return session
  }

  const resync = () => sync.resync(NAMES.filter(name => lists.value[name].status !== 'idle'))

  events.onHint(({ topic, id, version }) => {
    if (topic === 'session' && account.state === 'signed_in') sync.hint(id as SessionId, version)
  })
  events.onResync(resync)
  // Hints that arrived while the sign-in was expired were lost: nothing could be fetched.
  watch(
    () => account.state,
    (now, before) => {
      if (before === 'expired' && now === 'signed_in') resync()
    },
  )

  /** Postpones the end that the owner was warned of. @throws as the route */
  async function extend(id: SessionId): Promise<void> {
    await shown(api.extendSession({ params: { id }, body: {} }))
  }

  /** Cancels or ends a session; the row changes with the answer, not before. @throws as the route */
  async function terminate(id: SessionId, why = ''): Promise<void> {
    await shown(api.deleteSession({ params: { id }, ...(why === '' ? {} : { query: { why } }) }))
  }

  /** Starts the session again on the same agent with its files. @throws as the route */
  async function restart(id: SessionId, body: SessionRestart = {}): Promise<RestartAnswer> {
    const { notices = [], ...session } = await api.restartSession({ params: { id }, body })
    putFresh([session])
    return { session, notices }
  }

  /** Adds a folder to a running session. @throws as the route */
  async function addFolder(id: SessionId, body: FolderMountSpec): Promise<void> {
    await shown(api.addSessionFolder({ params: { id }, body }))
  }

  /** Takes a folder out of a running session. @throws as the route */
  async function takeFolder(id: SessionId, folderId: FolderId, force: boolean): Promise<void> {
    await shown(api.removeSessionFolder({ params: { id, folderId }, query: force ? { force: 'true' } : {} }))
  }

  /** Launches sessions; they show with the answer, before any hint. @throws as the route */
  async function launch(spec: SessionSpec): Promise<LaunchAnswer> {
    const answer = await api.createSession({ body: spec })
    putFresh(answer.items)
    return answer
  }

  function putFresh(items: readonly Session[]): void {
    put(items)
    fresh.value = new Set(items.map(({ id }) => id))
  }

  /** Watches live figures of these sessions until the returned function is called; read them with `statsOf`. */
  function watchStats(ids: readonly SessionId[]): () => void {
    return events.watch(ids, (id, stats) => {
      const status = byId.value.get(id)?.status
      if (status !== undefined && !isFinished(status)) liveStats.set(id, stats)
    })
  }

  /** The newest figures: the last live ones, or those of an answer after the session was watched. */
  function statsOf(id: SessionId): SessionStats | null {
    const live = liveStats.get(id)
    const answered = byId.value.get(id)?.stats ?? null
    return live && !(answered && answered.at > live.at) ? live : answered
  }

  return {
    byId,
    lists,
    live,
    finished,
    fresh,
    load,
    count,
    more,
    launch,
    fetchOne,
    put,
    extend,
    restart,
    addFolder,
    takeFolder,
    terminate,
    watchStats,
    statsOf,
  }
})
