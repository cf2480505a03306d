import { createParser } from 'eventsource-parser'
import { type ApiClient, EventHint, isFinished, type SessionId, type SignableRequest } from '#manager/contract'
import { createBackoff } from './grants/backoff.ts'
import { verdictOf } from './grants/verdict.ts'
import { type Log } from './log.ts'
import { type Fetch } from './network/direct-fetch.ts'

export interface SessionWatchDeps {
  readonly managerUrl: string
  readonly credentials: (request: SignableRequest) => Promise<Record<string, string>>
  readonly fetch: Fetch
  readonly api: Pick<ApiClient, 'getSession'>
  /** Sessions that have a tunnel at present. */
  readonly watched: () => readonly SessionId[]
  readonly onEnded: (sessionId: SessionId) => void
  /** Called when the connection to the manager was lost, or is back. */
  readonly onPathChanged: () => void
  readonly log: Log
  /** A stream that is silent for longer counts as dead (e.g. the computer slept); the manager pings every 15 seconds. */
  readonly silenceMs?: number
}

const SILENCE_MS = 45_000
/** Maximum number of characters of one event. */
const LONGEST_EVENT = 1024 * 1024

/**
 * Follows the manager's event stream while tunnels are open: a session that ends closes its tunnels at once instead of at the
 * next renewal, and a network that is lost or back is noticed even without new connections.
 */
export function watchSessions(deps: SessionWatchDeps): Disposable {
  const { silenceMs = SILENCE_MS } = deps
  const stop = new AbortController()
  const backoff = createBackoff({ minMs: 200, maxMs: 2_000 })
  let link: 'new' | 'up' | 'down' = 'new'
  const isStopped = () => stop.signal.aborted
  void follow()

  async function follow() {
    while (!isStopped()) {
      try {
        for await (const event of openEvents()) {
          if (event.name === 'hint') await check(EventHint.safeParse(JSON.parse(event.data)).data)
        }
      } catch (error) {
        if (isStopped()) return
        deps.log.debug({ error: String(error) }, 'the event stream of the manager broke')
      }
      if (isStopped()) return
      if (link !== 'down') deps.onPathChanged()
      link = 'down'
      await backoff.wait(stop.signal).catch(() => undefined)
    }
  }

  async function* openEvents(): AsyncGenerator<StreamedEvent> {
    const url = `${deps.managerUrl}/api/v1/events`
    const headers = { ...(await deps.credentials({ method: 'GET', url })), accept: 'text/event-stream' }
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(new Error(`silent for ${silenceMs} ms`)), silenceMs)
    try {
      const signal = AbortSignal.any([stop.signal, silence.signal])
      yield* readEvents(await deps.fetch(url, { headers, signal }), () => timer.refresh())
    } finally {
      clearTimeout(timer)
    }
  }

  async function* readEvents(response: Response, heard: () => void): AsyncGenerator<StreamedEvent> {
    if (!response.ok || !response.body) {
      await response.body?.cancel()
      throw new Error(`HTTP ${response.status}`)
    }
    backoff.reset()
    if (link === 'down') deps.onPathChanged()
    link = 'up'
    for (const id of deps.watched()) await check({ topic: 'session', id, version: 0 })
    yield* parseEvents(response.body.pipeThrough(new TextDecoderStream()), heard)
  }

  async function check(hint: EventHint | undefined) {
    const sessionId = deps.watched().find(id => id === hint?.id)
    if (hint?.topic !== 'session' || sessionId === undefined) return
    try {
      const session = await deps.api.getSession({ params: { id: sessionId }, signal: stop.signal })
      if (isFinished(session.status) || session.status === 'TERMINATING') deps.onEnded(sessionId)
    } catch (error) {
      if (verdictOf(error) === 'ended') deps.onEnded(sessionId)
    }
  }

  return {
    [Symbol.dispose]() {
      stop.abort(new Error('stopped'))
    },
  }
}

interface StreamedEvent {
  readonly name: string
  readonly data: string
}

/** Events of a `text/event-stream`. @param heard called for every piece, before its events */
export async function* parseEvents(
  chunks: AsyncIterable<string>,
  heard: () => void = () => undefined,
): AsyncGenerator<StreamedEvent> {
  const complete: StreamedEvent[] = []
  const parser = createParser({
    maxBufferSize: LONGEST_EVENT,
    onEvent: ({ event, data }) => complete.push({ name: event ?? 'message', data }),
    onError: error => {
      // The specification says to ignore unknown fields.
      if (error.type === 'max-buffer-size-exceeded') throw error
    },
  })
  for await (const chunk of chunks) {
    heard()
    parser.feed(chunk)
    yield* complete.splice(0)
  }
}
