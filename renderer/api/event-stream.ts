import { shallowReadonly, shallowRef, type Ref } from 'vue'
import { parseJson } from '#base/parse-json'
import {
  isEventHint,
  isSessionStats,
  MOST_SHOWN_DIRECTORIES,
  type EventHint,
  type FolderId,
  type SessionId,
  type SessionStats,
} from '#manager/contract'
import { connectSse, type SseConnection } from './sse-client.ts'
import { type SseEvent } from './sse-parser.ts'
import { type ConnectionInfo } from './connection-info.ts'
import { openTabChannel, type TabChannel } from './tab-channel.ts'

type StatsListener = (sessionId: SessionId, stats: SessionStats) => void

/** The event stream: hints that something has a newer version. All tabs of this browser share one connection. */
export interface EventStream {
  readonly connection: Readonly<Ref<ConnectionInfo>>
  /** Time at which a lost connection last came back (`performance.now()`); 0 if none was lost. */
  readonly backAt: () => number
  /**
   * Calls `listener` when something has changed: fetch it if the page shows an older version.
   * @returns a function that stops listening
   */
  onHint(listener: (hint: EventHint) => void): () => void
  /** Calls `listener` when hints may have been missed, also after every interruption without resume: fetch all that is shown. */
  onResync(listener: () => void): () => void
  /** Calls `listener` with live figures of these sessions only, once per second. @returns a function that stops watching */
  watch(sessionIds: readonly SessionId[], listener: StatsListener): () => void
  /**
   * Requests hints about changes that sessions make in a folder's directory that this page shows. @returns a function that stops watching
   */
  watchDirectory(folderId: FolderId, path: string): () => void
  /** Opens the stream; call it after signing in. Idempotent. */
  start(): void
  /** Closes the stream; call it before signing out. */
  stop(): void
  /** Reconnects now instead of after the back-off pause. */
  reconnect(): void
}

export interface EventStreamDeps {
  readonly fetch: typeof fetch
  /** Opens the channel between the tabs of the browser; omitted in tests of a single tab. */
  readonly openChannel?: typeof openTabChannel
  /** Milliseconds in which changes of the watched set are gathered into one new connection. */
  readonly settleMs?: number
  /** Fires `online` and `offline` when this computer gains or loses its network; omitted: the window. */
  readonly network?: EventTarget | undefined
}

/**
 * Upper bound of watched sessions: more than a screen shows, and it keeps the URL of the stream short. Beyond it, sessions of
 * this tab come first, then those of the tabs that reported last.
 */
const MAX_WATCHED = 80
/** Upper bound of the directories in the URL, in characters. Servers in between accept 8 KiB. */
const LONGEST_DIRECTORIES = 4_000

export function createEventStream(deps: EventStreamDeps): EventStream {
  const { fetch, openChannel = openTabChannel, settleMs = 300 } = deps
  const network = deps.network ?? (globalThis as Partial<typeof globalThis>).window
  const connection = shallowRef<ConnectionInfo>({ state: 'closed' })
  let isLost = false
  let backAt = 0
  const hintListeners = new Set<(hint: EventHint) => void>()
  const resyncListeners = new Set<() => void>()
  const watches = new Set<{ ids: readonly SessionId[]; listener: StatsListener }>()
  const shown = new Set<{ directory: string }>()
  let channel: TabChannel | undefined
  let sse: SseConnection | undefined
  let lastEventId: string | undefined
  let watched: Wanted = { sessions: [], directories: [] }
  let settling: ReturnType<typeof setTimeout> | undefined

  const dispatch = ({ event, data, id }: SseEvent) => {
    if (id !== undefined) lastEventId = id
    if (event === 'resync') {
      for (const listener of [...resyncListeners]) listener()
      return
    }
    if (event !== 'hint' && event !== 'stats') return
    const json = parseJson(data) ?? {}
    if (event === 'hint') {
      if (isEventHint(json)) for (const listener of [...hintListeners]) listener(json)
      return
    }
    const { sessionId, stats } = json as { sessionId: SessionId; stats: unknown }
    if (!isSessionStats(stats)) return
    for (const { ids, listener } of [...watches]) if (ids.includes(sessionId)) listener(sessionId, stats)
  }

  const deliver = (event: SseEvent) => {
    dispatch(event)
    channel?.send({ kind: 'event', event })
  }
  const setConnection = (info: ConnectionInfo) => {
    if (info.state === 'waiting') isLost = true
    if (info.state === 'live' && isLost) [isLost, backAt] = [false, performance.now()]
    connection.value = info
  }
  const ownIds = () => [
    ...new Set([...[...watches].flatMap(watch => watch.ids), ...[...shown].map(({ directory }) => directory)]),
  ]
  const wantedNow = () => chooseWanted(new Set([...ownIds(), ...(channel?.peerIds() ?? [])]))

  /**
   * When the network goes away, an open stream looks alive until it has been silent for long; when it comes back, the pause before the next
   * attempt may still last. So the stream reconnects at each change. A server on this computer answers without a network too.
   */
  const onNetwork = () => {
    if (connection.value.state !== 'signed_out') sse?.reconnect()
  }

  const lead = () => {
    watched = wantedNow()
    sse = connectSse({
      fetch,
      lastEventId,
      url: () => addressOf(watched),
      onEvent: deliver,
      onState: (state, detail) => {
        // A stream without a resume point has missed everything since this page fetched what it shows.
        if (state === 'live' && lastEventId === undefined) deliver({ event: 'resync', data: '{}', id: undefined })
        const info = { state, ...detail }
        setConnection(info)
        channel?.send({ kind: 'connection', info })
      },
    })
  }

  const watchesChanged = () => {
    channel?.setOwnIds(ownIds())
    if (!sse) return
    clearTimeout(settling)
    settling = setTimeout(() => {
      const next = wantedNow()
      if (!sse || (isServed(next.sessions, watched.sessions) && isServed(next.directories, watched.directories))) return
      watched = next
      sse.reconnect()
    }, settleMs)
  }

  return {
    connection: shallowReadonly(connection),
    backAt: () => backAt,
    onHint: listener => subscribe(hintListeners, listener),
    onResync: listener => subscribe(resyncListeners, listener),
    watch(ids, listener) {
      const watch = { ids, listener }
      watches.add(watch)
      watchesChanged()
      return () => {
        watches.delete(watch)
        watchesChanged()
      }
    },
    watchDirectory(folderId, path) {
      const one = { directory: `${folderId}/${path}` }
      shown.add(one)
      watchesChanged()
      return () => {
        shown.delete(one)
        watchesChanged()
      }
    },
    start() {
      if (channel) return
      setConnection({ state: 'connecting' })
      channel = openChannel({
        onLead: lead,
        onEvent: dispatch,
        onConnection: setConnection,
        onPeersChanged: watchesChanged,
        onReconnect: () => sse?.reconnect(),
        current: () => connection.value,
      })
      channel.setOwnIds(ownIds())
      for (const change of ['online', 'offline']) network?.addEventListener(change, onNetwork)
    },
    stop() {
      for (const change of ['online', 'offline']) network?.removeEventListener(change, onNetwork)
      clearTimeout(settling)
      sse?.close()
      sse = undefined
      channel?.close()
      channel = undefined
      lastEventId = undefined
      setConnection({ state: 'closed' })
    },
    reconnect() {
      if (sse) sse.reconnect()
      else channel?.send({ kind: 'reconnect' })
    },
  }
}

/** Topics of a connection: ids of sessions, and directories as folder id, `/` and path. */
interface Wanted {
  readonly sessions: readonly string[]
  readonly directories: readonly string[]
}

/** @param names what the tabs watch, the most important first; only a directory has a `/` in its name */
function chooseWanted(names: ReadonlySet<string>): Wanted {
  const sessions = [...names].filter(name => !name.includes('/')).slice(0, MAX_WATCHED)
  let room = LONGEST_DIRECTORIES
  const directories = [...names].filter(name => {
    const length = queryOf(name).length
    if (!name.includes('/') || length > room) return false
    room -= length
    return true
  })
  return { sessions: sessions.toSorted(), directories: directories.slice(0, MOST_SHOWN_DIRECTORIES).toSorted() }
}

/** A smaller set is no reason to reconnect unless it is empty: surplus events are ignored. */
function isServed(wanted: readonly string[], held: readonly string[]): boolean {
  if (wanted.length === 0) return held.length === 0
  return wanted.every(name => held.includes(name))
}

const queryOf = (directory: string) => `directory=${encodeURIComponent(directory.toWellFormed())}`

function addressOf({ sessions, directories }: Wanted): string {
  const watch = sessions.length === 0 ? [] : [`watch=${sessions.join(',')}`]
  const query = [...watch, ...directories.map(queryOf)].join('&')
  return `/api/v1/events${query && `?${query}`}`
}

function subscribe<T>(set: Set<T>, listener: T): () => void {
  set.add(listener)
  return () => void set.delete(listener)
}
