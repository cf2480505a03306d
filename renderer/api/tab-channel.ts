import { type ConnectionInfo } from './connection-info.ts'
import { randomId } from './random-id.ts'
import { type SseEvent } from './sse-parser.ts'

/** A message between the tabs of one browser profile and origin. Carries only what every tab may read anyway; no secrets. */
export type TabMessage =
  | { readonly kind: 'event'; readonly event: SseEvent }
  | { readonly kind: 'connection'; readonly info: ConnectionInfo }
  | { readonly kind: 'watching'; readonly tab: string; readonly ids: readonly string[] }
  | { readonly kind: 'left'; readonly tab: string }
  /** Sent by a new tab or a new leader: every tab replies with what it watches, the leader also with the connection state. */
  | { readonly kind: 'hello' }
  | { readonly kind: 'reconnect' }

export interface TabChannelOptions {
  /** Called when this tab becomes the leader, which keeps the connection until `close`. */
  readonly onLead: () => void
  readonly onEvent: (event: SseEvent) => void
  readonly onConnection: (info: ConnectionInfo) => void
  readonly onPeersChanged: () => void
  readonly onReconnect: () => void
  readonly current: () => ConnectionInfo
  readonly locks?: Pick<LockManager, 'request'> | undefined
  /** Fires `pagehide` when this tab goes away, and `pageshow` when it is restored. */
  readonly page?: EventTarget
  readonly name?: string
}

export interface TabChannel {
  send(message: TabMessage): void
  /** @param ids names of what this tab watches */
  setOwnIds(ids: readonly string[]): void
  /** Ids that other tabs watch, the tab that reported last first: a tab that crashed never said that it left. */
  peerIds(): string[]
  close(): void
}

/**
 * Elects one tab as leader by Web Locks: the tab that holds the lock leads, and the browser passes the lock on when that tab
 * closes or crashes. Without Web Locks (an insecure origin) every tab leads for itself.
 */
export function openTabChannel(options: TabChannelOptions): TabChannel {
  const { onLead, onEvent, onConnection, onPeersChanged, onReconnect, current, name = 'berth-events' } = options
  const page = options.page ?? (globalThis as Partial<typeof globalThis>).window
  const locks = 'locks' in options ? options.locks : (globalThis.navigator as Partial<Navigator>).locks
  const tab = randomId()
  const peers = new Map<string, readonly string[]>()
  const leaving = new AbortController()
  let own: readonly string[] = []
  let release: (() => void) | undefined
  let leading = false

  const broadcast = locks ? new BroadcastChannel(name) : undefined
  const send = (message: TabMessage) => broadcast?.postMessage(message)
  const say = () => {
    send({ kind: 'watching', tab, ids: own })
  }
  const onHide = () => {
    send({ kind: 'left', tab })
  }
  const lead = () => {
    leading = true
    onLead()
    send({ kind: 'hello' })
  }

  broadcast?.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
    switch (data.kind) {
      case 'event':
        if (!leading) onEvent(data.event)
        return
      case 'connection':
        if (!leading) onConnection(data.info)
        return
      case 'watching':
        peers.delete(data.tab)
        peers.set(data.tab, data.ids)
        if (leading) onPeersChanged()
        return
      case 'left':
        peers.delete(data.tab)
        return
      case 'hello':
        say()
        if (!leading) return
        // A tab that says hello is signed in. The cause that ended the connection here may be over, and must not end that
        // tab's connection.
        if (current().state === 'signed_out') onReconnect()
        else send({ kind: 'connection', info: current() })
        return
      case 'reconnect':
        if (leading) onReconnect()
    }
  })

  page?.addEventListener('pagehide', onHide)
  // A page restored from the back/forward cache announces what it watches again.
  page?.addEventListener('pageshow', say)

  if (locks) {
    send({ kind: 'hello' })
    const held = locks.request(name, { signal: leaving.signal }, () => {
      if (leaving.signal.aborted) return undefined
      lead()
      return new Promise<void>(resolve => {
        release = resolve
      })
    })
    // Rejects only if this tab closes before it gets the lock.
    held.catch(() => undefined)
  } else {
    queueMicrotask(() => {
      if (!leaving.signal.aborted) lead()
    })
  }

  return {
    send,
    setOwnIds(ids) {
      if (JSON.stringify(ids) === JSON.stringify(own)) return
      own = ids
      say()
    },
    peerIds: () => [...peers.values()].toReversed().flat(),
    close() {
      onHide()
      page?.removeEventListener('pagehide', onHide)
      page?.removeEventListener('pageshow', say)
      leaving.abort()
      release?.()
      broadcast?.close()
    },
  }
}
