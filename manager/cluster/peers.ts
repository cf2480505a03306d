import { type Log } from '../log.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'

/**
 * Messages between the managers on one database. A message holds ids, so that each receiver drops cached state, reads
 * again, or passes a hint on. It reaches every other manager within some milliseconds, or `onGap` is called there.
 * Nothing that matters may depend on a message alone: its sender can be killed between the write to the database and the
 * message.
 */
export interface Peers {
  /** @param name the same in all managers; messages are JSON, well below 8 kB, and hold no secrets */
  topic<T>(name: string): Topic<T>
  /** The listener is called when messages may have been missed, so cached database state may be stale. */
  onGap(listener: () => void): void
}

export interface Topic<T> {
  /** Sends to every other manager. */
  tell(message: T): void
  /** The listener is called for messages of other managers. */
  on(listener: (message: T) => void): void
}

export interface PeersHub extends Peers {
  /** Handles a notification. */
  receive(payload: string): void
  /** Handles a restored connection. */
  reopened(): void
  /** Handles the disappearance of another manager without a message. */
  gap(): void
  /** Resolves when all messages so far were sent, or failed. */
  flushed(): Promise<void>
}

export interface PeersDeps {
  readonly processId: string
  /** Sends one notification. @throws Error while there is no connection */
  readonly notify: (payload: string) => Promise<unknown>
  readonly log: Log
}

/** PostgreSQL accepts payloads of less than 8000 bytes. */
const MAX_BYTES = 7_900
const GAP = 'gap'

type Entry = readonly [topic: string, message: unknown]

/** Messages of one turn of the event loop share a notification. They arrive in the order in which they were sent. */
export function createPeers({ processId, notify, log }: PeersDeps): PeersHub {
  const listeners = new Map<string, ((message: unknown) => void)[]>()
  const gapListeners: (() => void)[] = []
  let queue: string[] = []
  let sending: Promise<void> | undefined
  let missed = false

  async function flush(): Promise<void> {
    // Messages of the same turn join this batch.
    await Promise.resolve()
    while (queue.length > 0) {
      const batch = takeBatch()
      try {
        await notify(batch)
      } catch (error) {
        log.debug({ err: error }, 'other managers could not be told')
        missed = true
        queue = []
      }
    }
  }

  function takeBatch(): string {
    const head = `{"from":${JSON.stringify(processId)},"told":[`
    let bytes = head.length + 2
    let count = 0
    while (count < queue.length) {
      bytes += Buffer.byteLength(queue[count] ?? '') + 1
      if (count > 0 && bytes > MAX_BYTES) break
      count++
    }
    return `${head}${queue.splice(0, count).join(',')}]}`
  }

  function tell(topic: string, message: unknown): void {
    const text = JSON.stringify([topic, message] satisfies Entry)
    if (Buffer.byteLength(text) > MAX_BYTES - 100) {
      log.error({ topic, bytes: text.length }, 'a message to other managers is too long; they will look at everything')
      queue.push(JSON.stringify([GAP, null]))
    } else queue.push(text)
    send()
  }

  function send(): void {
    sending ??= onBehalfOfAll(flush).finally(() => {
      sending = undefined
      // Covers messages queued after `flush` found an empty queue and before `sending` was cleared.
      if (queue.length > 0) send()
    })
  }

  const gap = () => gapListeners.forEach(listener => guard(GAP, listener))

  function guard(topic: string, act: () => void): void {
    try {
      act()
    } catch (error) {
      log.error({ err: error, topic }, 'a message of another manager could not be taken up')
    }
  }

  return {
    topic: name => ({
      tell: message => tell(name, message),
      on: listener =>
        void listeners.set(name, [...(listeners.get(name) ?? []), listener as (message: unknown) => void]),
    }),
    onGap: listener => void gapListeners.push(listener),
    receive(payload) {
      const { from, told } = parse(payload)
      if (from === processId) return
      for (const [topic, message] of told) {
        if (topic === GAP) gap()
        else for (const listener of listeners.get(topic) ?? []) guard(topic, () => listener(message))
      }
    },
    reopened() {
      gap()
      if (!missed) return
      missed = false
      tell(GAP, null)
    },
    gap,
    async flushed() {
      while (sending) await sending
    },
  }
}

/** Parses an untrusted payload: every role that may connect to the database may notify. */
function parse(payload: string): { from: string; told: readonly Entry[] } {
  try {
    const { from, told } = JSON.parse(payload) as { from: unknown; told: unknown }
    if (typeof from === 'string' && Array.isArray(told) && told.every(isEntry)) return { from, told }
  } catch {
    // The payload is no JSON, or not an object.
  }
  // The payload is not ours. Treat it as a gap, since its meaning is unknown.
  return { from: '', told: [[GAP, null]] }
}

function isEntry(value: unknown): value is Entry {
  return Array.isArray(value) && typeof value[0] === 'string'
}

/** Peers of a manager that is alone on its database. */
export const NO_PEERS: Peers = {
  topic: () => ({ tell: () => undefined, on: () => undefined }),
  onGap: () => undefined,
}
