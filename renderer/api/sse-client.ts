import { isProblem, type Problem } from '#manager/contract'
import { defined } from '#base/defined'
import { reconnectPauseMs } from './reconnect-pause.ts'
import { createSseParser, type SseEvent } from './sse-parser.ts'

export type ConnectionState = 'connecting' | 'live' | 'waiting' | 'signed_out' | 'closed'

export interface SseOptions {
  readonly fetch: typeof fetch
  /** Called for every connection, because parameters may change in between. */
  readonly url: () => string
  readonly onEvent: (event: SseEvent) => void
  /** @param detail with `waiting`: when the next attempt begins, whether a server has answered and refused, and its reason */
  readonly onState?: (
    state: ConnectionState,
    detail: { retryAt?: number; answered?: boolean; problem?: Problem },
  ) => void
  /** Id of the last event of another tab's stream, to resume from. */
  readonly lastEventId?: string | undefined
  /** A stream silent for longer than this is taken for dead, in milliseconds; the server pings more often. */
  readonly silenceMs?: number
  readonly random?: () => number
}

export interface SseConnection {
  /** Reconnects now and resumes after the last event; for changed parameters, or when the network is back. */
  reconnect(): void
  close(): void
}

/**
 * Keeps one event stream open: resumes with `Last-Event-ID`, retries with back-off, and ends silent connections
 * (a computer that slept has half-open sockets). Stops on 401: only a new sign-in helps, and signing in calls `reconnect`.
 */
export function connectSse(options: SseOptions): SseConnection {
  const { fetch, url, onEvent, onState, silenceMs = 45_000, random = Math.random } = options
  let lastId = options.lastEventId
  let failures = 0
  let controller: AbortController | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let closed = false
  let problem: Problem | undefined

  const attempt = async (signal: AbortSignal, abort: () => void): Promise<'signed_out' | 'refused' | 'ended'> => {
    let silence: ReturnType<typeof setTimeout> | undefined
    const heard = () => {
      clearTimeout(silence)
      silence = setTimeout(abort, silenceMs)
    }
    try {
      heard()
      const headers: Record<string, string> = { accept: 'text/event-stream' }
      if (lastId !== undefined) headers['last-event-id'] = lastId
      const reply = await fetch(url(), { headers, cache: 'no-store', signal })
      if (reply.status === 401) return 'signed_out'
      if (!reply.ok || !reply.body) {
        const told: unknown = await reply.json().catch(() => undefined)
        problem = isProblem(told) ? told : undefined
        return 'refused'
      }
      failures = 0
      onState?.('live', {})
      const parse = createSseParser(event => {
        if (event.id !== undefined) lastId = event.id
        onEvent(event)
      })
      const decoder = new TextDecoder()
      const reader = reply.body.getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return 'ended'
        heard()
        parse(decoder.decode(value, { stream: true }))
      }
    } finally {
      clearTimeout(silence)
    }
  }

  const run = async () => {
    const mine = new AbortController()
    controller = mine
    if (failures === 0) onState?.('connecting', {})
    let outcome: 'signed_out' | 'refused' | 'ended'
    problem = undefined
    try {
      outcome = await attempt(mine.signal, () => mine.abort())
    } catch {
      // Refused, reset, silent and aborted connections are all retried the same way.
      outcome = 'ended'
    }
    if (controller !== mine || isClosed()) return
    if (outcome === 'signed_out') {
      onState?.('signed_out', {})
      return
    }
    failures += 1
    const pause = reconnectPauseMs(failures, random())
    onState?.('waiting', { retryAt: Date.now() + pause, answered: outcome === 'refused', ...defined({ problem }) })
    timer = setTimeout(() => void run(), pause)
  }
  // A function, because the compiler would take a plain flag for constant across an await.
  const isClosed = () => closed

  const stop = () => {
    clearTimeout(timer)
    const previous = controller
    controller = undefined
    previous?.abort()
  }

  void run()
  return {
    reconnect() {
      if (closed) return
      stop()
      void run()
    },
    close() {
      closed = true
      stop()
      onState?.('closed', {})
    },
  }
}
