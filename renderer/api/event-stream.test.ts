import { describe, expect, test, vi } from 'vitest'
import { watch } from 'vue'
import { type EventHint, type FolderId, type SessionId } from '#manager/contract'
import { idOf } from '../testing/a-session.ts'
import { createEventStream } from './event-stream.ts'
import { openTabChannel, type TabMessage } from './tab-channel.ts'

const A = '0199a000-0000-7000-8000-00000000000a' as SessionId
const B = '0199a000-0000-7000-8000-00000000000b' as SessionId
const STATS = {
  at: '2026-11-20T12:00:00.000Z',
  cpuMilli: 100,
  memBytes: 1,
  memPeakBytes: 1,
  netRxBytes: 0,
  netTxBytes: 0,
  diskReadBytes: 0,
  diskWriteBytes: 0,
  scratchBytes: null,
  gpus: [],
}

function aServer() {
  const open: { url: string; send(event: string, data: unknown): void }[] = []
  let id = 0
  const fetch = (input: string, init?: RequestInit) => {
    let controller: ReadableStreamDefaultController<Uint8Array>
    const body = new ReadableStream<Uint8Array>({
      start: made => {
        controller = made
      },
    })
    const connection = {
      url: input,
      send: (event: string, data: unknown) => {
        id += 1
        controller.enqueue(new TextEncoder().encode(`id: 1.${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
      },
    }
    open.push(connection)
    init?.signal?.addEventListener('abort', () => {
      open.splice(open.indexOf(connection), 1)
      controller.error(new DOMException('aborted', 'AbortError'))
    })
    return Promise.resolve(new Response(body))
  }
  return { fetch: fetch as typeof globalThis.fetch, open }
}

/** Web Locks of one origin, shared by the tabs of a test. */
function someLocks() {
  let held = false
  const waiting: (() => void)[] = []
  const request = (_name: string, options: { signal?: AbortSignal }, work: () => Promise<void> | undefined) =>
    new Promise<void>((resolve, reject) => {
      const run = () => {
        if (options.signal?.aborted) {
          waiting.shift()?.()
          reject(new DOMException('aborted', 'AbortError'))
          return
        }
        held = true
        void Promise.resolve(work()).then(() => {
          held = false
          resolve()
          waiting.shift()?.()
        })
      }
      if (held) waiting.push(run)
      else run()
    })
  return { request } as unknown as LockManager
}

let channels = 0
function aBrowser(server: ReturnType<typeof aServer>) {
  const locks = someLocks()
  const name = `test-${(channels += 1)}`
  return (page = new EventTarget()) =>
    createEventStream({
      fetch: server.fetch,
      settleMs: 1,
      openChannel: options => openTabChannel({ ...options, locks, name, page }),
    })
}

describe('the event stream of a browser', () => {
  test('one connection serves all tabs, and every tab gets every hint', async () => {
    const server = aServer()
    const newTab = aBrowser(server)
    const tabs = [newTab(), newTab(), newTab()]
    const seen = tabs.map(() => [] as EventHint[])
    tabs.forEach((tab, index) => {
      tab.onHint(hint => seen[index]!.push(hint))
      tab.start()
    })
    await expect.poll(() => tabs.map(tab => tab.connection.value.state)).toEqual(['live', 'live', 'live'])
    expect(server.open).toHaveLength(1)
    const hint = { topic: 'session', id: A, version: 3 }
    server.open[0]!.send('hint', hint)
    await expect.poll(() => seen).toEqual([[hint], [hint], [hint]])
    tabs.forEach(tab => tab.stop())
  })

  test('when the leading tab closes, another one continues the stream at the same place', async () => {
    const server = aServer()
    const newTab = aBrowser(server)
    const [first, second] = [newTab(), newTab()]
    const hints: EventHint[] = []
    second.onHint(hint => hints.push(hint))
    first.start()
    await expect.poll(() => server.open).toHaveLength(1)
    second.start()
    await expect.poll(() => second.connection.value.state).toBe('live')
    first.stop()
    await expect.poll(() => server.open).toHaveLength(1)
    server.open[0]!.send('hint', { topic: 'session', id: B, version: 1 })
    await expect.poll(() => hints).toHaveLength(1)
    second.stop()
  })

  test('a refused stream starts again when a tab signs in, and that tab does not sign out', async () => {
    const server = aServer()
    let signedIn = true
    const fetch: typeof globalThis.fetch = (url, init) =>
      signedIn ? server.fetch(url, init) : Promise.resolve(new Response(null, { status: 401 }))
    const newTab = aBrowser({ ...server, fetch })
    const [leader, other] = [newTab(), newTab()]
    const told: string[] = []
    signedIn = false
    leader.start()
    await expect.poll(() => leader.connection.value.state).toBe('signed_out')
    watch(other.connection, ({ state }) => told.push(state), { flush: 'sync' })
    signedIn = true
    other.start()
    await expect.poll(() => [leader, other].map(tab => tab.connection.value.state)).toEqual(['live', 'live'])
    expect(told).not.toContain('signed_out')
    leader.stop()
    other.stop()
  })

  test('the stream watches what any tab shows, and delivers figures only to tabs that watch them', async () => {
    const server = aServer()
    const newTab = aBrowser(server)
    const [first, second] = [newTab(), newTab()]
    const figures: string[] = []
    first.start()
    second.start()
    await expect.poll(() => second.connection.value.state).toBe('live')
    first.watch([A], id => figures.push(`first ${id}`))
    const stop = second.watch([B], id => figures.push(`second ${id}`))
    await expect.poll(() => server.open.map(({ url }) => url)).toEqual([`/api/v1/events?watch=${A},${B}`])
    server.open[0]!.send('stats', { sessionId: A, stats: STATS })
    server.open[0]!.send('stats', { sessionId: B, stats: STATS })
    await expect.poll(() => figures.toSorted()).toEqual([`first ${A}`, `second ${B}`])
    stop()
    server.open[0]!.send('stats', { sessionId: B, stats: STATS })
    server.open[0]!.send('stats', { sessionId: A, stats: STATS })
    await expect.poll(() => figures).toHaveLength(3)
    first.stop()
    second.stop()
  })

  test('the stream names the directories that tabs show, and those of pages that were left no longer', async () => {
    const server = aServer()
    const newTab = aBrowser(server)
    const [first, second] = [newTab(), newTab()]
    const named = () => new URL(server.open[0]?.url ?? '', 'http://x').searchParams.getAll('directory')
    first.start()
    second.start()
    await expect.poll(() => second.connection.value.state).toBe('live')
    const folderId = A as string as FolderId
    const leave = first.watchDirectory(folderId, '')
    const leaveOther = second.watchDirectory(folderId, '한글/a&b, c')
    await expect.poll(named).toEqual([`${A}/`, `${A}/한글/a&b, c`])
    leave()
    const leaveNext = first.watchDirectory(folderId, 'next')
    await expect.poll(named).toEqual([`${A}/next`, `${A}/한글/a&b, c`])
    leaveNext()
    leaveOther()
    await expect.poll(() => server.open[0]?.url).toBe('/api/v1/events')
    // Too long for the URL, so the page checks again when it gets the focus.
    first.watchDirectory(folderId, '가'.repeat(1_000))
    first.watchDirectory(folderId, 'short')
    await expect.poll(named).toEqual([`${A}/short`])
    first.stop()
    second.stop()
  })

  test('sessions that closed tabs watched are no longer watched', async () => {
    const server = aServer()
    const newTab = aBrowser(server)
    const watchedNow = () => server.open[0]?.url.split('watch=')[1]?.split(',') ?? []
    const leader = newTab()
    leader.start()
    await expect.poll(() => server.open).toHaveLength(1)
    const closed = new EventTarget()
    const tab = newTab(closed)
    tab.watch([idOf(1)], () => undefined)
    tab.start()
    await expect.poll(() => watchedNow()).toEqual([idOf(1)])
    closed.dispatchEvent(new Event('pagehide'))
    leader.watch([idOf(2)], () => undefined)
    await expect.poll(() => watchedNow()).toEqual([idOf(2)])
    closed.dispatchEvent(new Event('pageshow'))
    await expect.poll(() => watchedNow()).toEqual([idOf(1), idOf(2)])
    leader.stop()
    tab.stop()
  })

  test('a limited number of watched sessions goes to the own tab first, then to the newest of the other tabs', async () => {
    const server = aServer()
    const newTab = aBrowser(server)
    const watchedNow = () => new Set(server.open[0]?.url.split('watch=')[1]?.split(','))
    const range = (first: number, last: number) => Array.from({ length: last - first }, (_, n) => idOf(first + n))
    const [leader, other] = [newTab(), newTab()]
    // A crashed tab: it reported the directories that it watches, and then nothing more.
    const crashed = new BroadcastChannel(`test-${channels}`)
    leader.start()
    await expect.poll(() => server.open).toHaveLength(1)
    crashed.postMessage({ kind: 'watching', tab: 'crashed', ids: range(0, 80) } satisfies TabMessage)
    await expect.poll(() => watchedNow().size).toBe(80)
    other.watch(range(100, 110), () => undefined)
    other.start()
    await expect.poll(() => watchedNow()).toContain(idOf(109))
    leader.watch(range(200, 210), () => undefined)
    await expect.poll(() => watchedNow()).toContain(idOf(209))
    expect([...watchedNow()]).toEqual(expect.arrayContaining([...range(200, 210), ...range(100, 110)]))
    expect(watchedNow().size).toBe(80)
    crashed.close()
    leader.stop()
    other.stop()
  })

  test.each(['offline', 'online'])('when the network is %s, the stream asks at once, and resumes', async change => {
    const server = aServer()
    const asked: (string | null)[] = []
    const fetch: typeof globalThis.fetch = (url, init) => {
      asked.push(new Headers(init?.headers).get('last-event-id'))
      return server.fetch(url, init)
    }
    const network = new EventTarget()
    const tab = createEventStream({ fetch, network, settleMs: 1 })
    const hint = vi.fn()
    tab.onHint(hint)
    tab.start()
    await expect.poll(() => tab.connection.value.state).toBe('live')
    server.open[0]!.send('hint', { topic: 'session', id: A, version: 1 })
    await expect.poll(() => hint).toHaveBeenCalledOnce()
    network.dispatchEvent(new Event(change))
    await expect.poll(() => asked).toEqual([null, '1.1'])
    await expect.poll(() => tab.connection.value.state).toBe('live')
    expect(server.open).toHaveLength(1)
    tab.stop()
    network.dispatchEvent(new Event(change))
    expect(asked).toHaveLength(2)
  })

  test('after a resync every tab fetches again, and unknown events are ignored', async () => {
    const server = aServer()
    const tab = aBrowser(server)()
    const resync = vi.fn()
    const hint = vi.fn()
    tab.onResync(resync)
    tab.onHint(hint)
    tab.start()
    await expect.poll(() => server.open).toHaveLength(1)
    server.open[0]!.send('hint', { topic: 'a topic of the future' })
    server.open[0]!.send('something', {})
    const before = resync.mock.calls.length
    server.open[0]!.send('resync', {})
    await expect.poll(() => resync.mock.calls.length).toBeGreaterThan(before)
    expect(hint).not.toHaveBeenCalled()
    tab.stop()
  })
})
