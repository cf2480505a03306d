import { defineStore } from 'pinia'
import { computed, shallowRef, triggerRef, watch } from 'vue'
import { isFinished, MOST_SESSION_IDS, type Session, type SessionId } from '#manager/contract'
import { useServices } from '../../services.ts'
import { createFrameTask } from '../../ui/frame-task.ts'
import { useAccount } from '../account/useAccount.ts'
import { createSessionActs } from './session-acts.ts'
import { createSessionLists } from './session-lists.ts'
import { createSessionStats } from './session-stats.ts'
import { createSessionSync } from './session-sync.ts'
import { type ListName } from './sync-plan.ts'

const listOf = (session: Session): ListName => (isFinished(session.status) ? 'finished' : 'live')

/** All sessions that this user may see, kept current by event hints. The newest version wins, in whatever order answers arrive. */
export const useSessions = defineStore('sessions', () => {
  const { api, events } = useServices()
  const account = useAccount()
  /** Changed in place; `commit` triggers the watchers. */
  const byId = shallowRef(new Map<SessionId, Session>())
  const { watchStats, statsOf, dropStats } = createSessionStats(events, id => byId.value.get(id))

  const sorted = computed(() => [...byId.value.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1)))
  const live = computed(() => sorted.value.filter(session => !isFinished(session.status)))
  const finished = computed(() => sorted.value.filter(session => isFinished(session.status)))

  // All state derived from the sessions updates once per frame, however many answers arrived in it.
  const commit = createFrameTask(() => triggerRef(byId))
  const loading = createSessionLists({ api, take, showNow: () => commit.now() })
  const { lists, setList, count, more } = loading

  function take(sessions: readonly Session[]): void {
    for (const session of sessions) {
      const known = byId.value.get(session.id)
      if (known && known.version > session.version) continue
      if (known && listOf(known) !== listOf(session)) loading.noteMoved()
      byId.value.set(session.id, session)
      if (isFinished(session.status)) dropStats(session.id)
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
    loading.noteMoved()
    dropStats(id)
    commit.soon()
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
    fetchList: loading.fetchList,
    fetchIds,
    onListFailed: (name, error) => setList(name, { status: 'failed', error }),
    onRound: () => {
      commit.now()
      void loading.refreshTotals()
    },
  })

  /** Fetches a list unless it is loaded: hints keep it current. The first page shows at once. */
  async function load(name: ListName): Promise<void> {
    if (lists.value[name].status === 'ready') return
    setList(name, { status: 'loading', error: null })
    await sync.load(name)
  }

  const resync = () => sync.resync(loading.begun())

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

  return {
    byId,
    lists,
    live,
    finished,
    load,
    count,
    more,
    put,
    ...createSessionActs(api, put),
    watchStats,
    statsOf,
  }
})
