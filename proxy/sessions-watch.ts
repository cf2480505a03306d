import { type ApiClient, EventHint, isFinished, type SessionId, type SignableRequest } from '#manager/contract'
import { createBackoff } from './grants/backoff.ts'
import { verdictOf } from './grants/verdict.ts'
import { type Log } from './log.ts'

export interface SessionWatchDeps {
  readonly managerUrl: string
  readonly credentials: (request: SignableRequest) => Promise<Record<string, string>>
  readonly api: Pick<ApiClient, 'getSession'>
  /** Sessions that have a tunnel now. */
  readonly watched: () => readonly SessionId[]
  readonly onEnded: (sessionId: SessionId) => void
  /** The connection to the manager was lost, or is back. */
  readonly onPathChanged: () => void
  readonly log: Log
}

/**
 * Follows the manager's event stream while tunnels are open: a session that ends closes its tunnels at once instead of at
 * the next renewal, and a lost or returned network is noticed although nobody is connecting.
 */
export function watchSessions(deps: SessionWatchDeps): Disposable {
  const stop = new AbortController()
  const backoff = createBackoff({ minMs: 200, maxMs: 2_000 })
  let link: 'new' | 'up' | 'down' = 'new'
  const isStopped = () => stop.signal.aborted
  void follow()

  async function follow() {
    while (!isStopped()) {
      try {
        for await (const event of openEvents()) {
          if (event.name === 'hint') await look(EventHint.safeParse(JSON.parse(event.data)).data)
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

  async function* openEvents(): AsyncGenerator<{ name: string; data: string }> {
    const url = `${deps.managerUrl}/api/v1/events`
    const response = await fetch(url, {
      headers: { ...(await deps.credentials({ method: 'GET', url })), accept: 'text/event-stream' },
      signal: stop.signal,
    })
    if (!response.ok || !response.body) {
      await response.body?.cancel()
      throw new Error(`HTTP ${response.status}`)
    }
    backoff.reset()
    if (link === 'down') deps.onPathChanged()
    link = 'up'
    for (const id of deps.watched()) await look({ topic: 'session', id, version: 0 })
    yield* parseEvents(response.body.pipeThrough(new TextDecoderStream()))
  }

  async function look(hint: EventHint | undefined) {
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

/** Server-sent events: blocks of `field: value` lines, separated by an empty line. */
export async function* parseEvents(chunks: AsyncIterable<string>): AsyncGenerator<{ name: string; data: string }> {
  let text = ''
  for await (const chunk of chunks) {
    text = (text + chunk).replaceAll('\r\n', '\n')
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = block.split('\n').map(line => /^(\w+): ?(.*)$/.exec(line))
      const data = fields.flatMap(field => (field?.[1] === 'data' ? (field[2] ?? '') : []))
      const name = fields.find(field => field?.[1] === 'event')?.[2] ?? 'message'
      if (data.length > 0) yield { name, data: data.join('\n') }
    }
  }
}
