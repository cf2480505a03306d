import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AppError, because, toProblem } from '#manager/contract'
import { connectSse, type ConnectionState, type SseConnection } from './sse-client.ts'
import { reconnectPauseMs } from './reconnect-pause.ts'

/** An in-memory server of streams: the test controls each connection. */
function aServer() {
  const connections: {
    readonly url: string
    readonly headers: Record<string, string>
    send(text: string): void
    end(): void
    readonly aborted: () => boolean
  }[] = []
  let status = 200
  const fetch = vi.fn((input: string, init?: RequestInit) => {
    const signal = init?.signal
    let controller: ReadableStreamDefaultController<Uint8Array>
    const body = new ReadableStream<Uint8Array>({
      start: made => {
        controller = made
        signal?.addEventListener('abort', () => made.error(new DOMException('aborted', 'AbortError')))
      },
    })
    connections.push({
      url: input,
      headers: init?.headers as Record<string, string>,
      send: text => controller.enqueue(new TextEncoder().encode(text)),
      end: () => controller.close(),
      aborted: () => signal?.aborted ?? false,
    })
    return Promise.resolve(new Response(status === 200 ? body : null, { status }))
  })
  return {
    fetch: fetch as unknown as typeof globalThis.fetch,
    connections,
    answerWith: (next: number) => (status = next),
  }
}

describe('the event stream client', () => {
  beforeEach(() => vi.useFakeTimers())
  let connection: SseConnection | undefined
  afterEach(() => {
    connection?.close()
    vi.useRealTimers()
  })

  function connect(server: ReturnType<typeof aServer>, url = () => '/events') {
    const events: string[] = []
    const states: ConnectionState[] = []
    connection = connectSse({
      fetch: server.fetch,
      url,
      random: () => 1,
      onEvent: ({ data }) => events.push(data),
      onState: state => states.push(state),
    })
    return { events, states, connection }
  }

  test('it resumes after the last event once the connection broke, and waits longer each time', async () => {
    const server = aServer()
    const { events, states } = connect(server)
    await vi.advanceTimersByTimeAsync(0)
    server.connections[0]!.send('id: 1.4\ndata: first\n\n')
    await vi.advanceTimersByTimeAsync(0)
    expect(events).toEqual(['first'])
    server.connections[0]!.end()
    await vi.advanceTimersByTimeAsync(499)
    expect(server.connections).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(server.connections[1]!.headers).toMatchObject({ 'last-event-id': '1.4' })
    expect(states).toEqual(['connecting', 'live', 'waiting', 'live'])
  })

  test('the reason of a server that refuses is told with the pause, and no longer once nobody answers', async () => {
    const problem = toProblem(new AppError('unavailable', because('database_away')))
    const answers = [() => Response.json(problem, { status: 503 }), () => new Response('no', { status: 502 })]
    const told: unknown[] = []
    connection = connectSse({
      fetch: () => Promise.resolve(answers.shift()?.() ?? Response.error()),
      url: () => '/events',
      random: () => 1,
      onEvent: () => undefined,
      onState: (state, detail) => state === 'waiting' && told.push(detail.problem?.data?.['cause']),
    })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(told.slice(0, 2)).toEqual(['database_away', undefined])
  })

  test('a silent stream counts as lost', async () => {
    const server = aServer()
    connect(server)
    await vi.advanceTimersByTimeAsync(30_000)
    server.connections[0]!.send(': ping\n\n')
    await vi.advanceTimersByTimeAsync(30_000)
    expect(server.connections[0]!.aborted()).toBe(false)
    await vi.advanceTimersByTimeAsync(15_000)
    expect(server.connections[0]!.aborted()).toBe(true)
    await vi.advanceTimersByTimeAsync(500)
    expect(server.connections).toHaveLength(2)
  })

  test('it stops when nobody is signed in, until it is told to try again', async () => {
    const server = aServer()
    server.answerWith(401)
    const { states, connection } = connect(server)
    await vi.advanceTimersByTimeAsync(120_000)
    expect(states).toEqual(['connecting', 'signed_out'])
    server.answerWith(200)
    connection.reconnect()
    await vi.advanceTimersByTimeAsync(0)
    expect(states.at(-1)).toBe('live')
    expect(server.connections).toHaveLength(2)
  })

  test('it retries while the server answers with errors', async () => {
    const server = aServer()
    server.answerWith(503)
    const { states } = connect(server)
    await vi.advanceTimersByTimeAsync(500 + 1000 + 2000)
    expect(server.connections).toHaveLength(4)
    expect(states).not.toContain('live')
  })

  test('it asks for the address again when it reconnects, and drops the old connection', async () => {
    const server = aServer()
    let watched = 'a'
    const { connection, events } = connect(server, () => `/events?watch=${watched}`)
    await vi.advanceTimersByTimeAsync(0)
    watched = 'a,b'
    connection.reconnect()
    await vi.advanceTimersByTimeAsync(0)
    expect(server.connections.map(({ url }) => url)).toEqual(['/events?watch=a', '/events?watch=a,b'])
    expect(server.connections[0]!.aborted()).toBe(true)
    server.connections[1]!.send('data: new\n\n')
    await vi.advanceTimersByTimeAsync(1000)
    expect(events).toEqual(['new'])
    expect(server.connections).toHaveLength(2)
  })

  test('it reports nothing after close', async () => {
    const server = aServer()
    const { connection, states } = connect(server)
    await vi.advanceTimersByTimeAsync(0)
    connection.close()
    connection.reconnect()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(server.connections).toHaveLength(1)
    expect(states.at(-1)).toBe('closed')
  })
})

test('its pauses grow up to a bound and are never shorter than 200 ms', () => {
  expect([1, 2, 3, 6, 50].map(failures => reconnectPauseMs(failures, 1))).toEqual([500, 1000, 2000, 15_000, 15_000])
  expect(reconnectPauseMs(4, 0)).toBe(200)
})
