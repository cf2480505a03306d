import { createPinia, disposePinia, setActivePinia } from 'pinia'
import { onTestFinished } from 'vitest'
import { createApp, shallowRef } from 'vue'
import { AppError, ROUTES, type ApiClient, type EventHint, type SessionId, type SessionStats } from '#manager/contract'
import { createOriginSecret } from '../api/origin-secret.ts'
import { type ConnectionInfo } from '../api/connection-info.ts'
import { type EventStream } from '../api/event-stream.ts'
import { type Host } from '../host.ts'
import { provideServices } from '../services.ts'

export interface TestEvents extends EventStream {
  hint(hint: EventHint): void
  resync(): void
  stats(sessionId: SessionId, stats: SessionStats): void
  readonly watched: () => SessionId[]
  setState(state: ConnectionInfo['state']): void
}

/** An event stream driven by the test. */
export function testEvents(): TestEvents {
  const hints = new Set<(hint: EventHint) => void>()
  const resyncs = new Set<() => void>()
  const watches = new Set<{ ids: readonly SessionId[]; listener: (id: SessionId, stats: SessionStats) => void }>()
  const connection = shallowRef<ConnectionInfo>({ state: 'live' })
  return {
    connection,
    onHint: listener => (hints.add(listener), () => void hints.delete(listener)),
    watchDirectory: () => () => undefined,
    onResync: listener => (resyncs.add(listener), () => void resyncs.delete(listener)),
    watch(ids, listener) {
      const watch = { ids, listener }
      watches.add(watch)
      return () => void watches.delete(watch)
    },
    backAt: () => 0,
    start: () => undefined,
    stop: () => undefined,
    reconnect: () => undefined,
    hint: hint => hints.forEach(listener => listener(hint)),
    resync: () => resyncs.forEach(listener => listener()),
    stats: (id, stats) => watches.forEach(({ ids, listener }) => ids.includes(id) && listener(id, stats)),
    watched: () => [...watches].flatMap(({ ids }) => ids),
    setState: state => {
      connection.value = { state }
    },
  }
}

/** An API in which every route fails unless the test gives it an answer. */
export function testApi(answers: Partial<ApiClient>): ApiClient {
  const missing = Object.keys(ROUTES).map(name => [
    name,
    () => Promise.reject(new AppError('internal', { why: `the test does not answer ${name}` })),
  ])
  return { ...(Object.fromEntries(missing) as ApiClient), ...answers }
}

/** The origin secret of one browser profile; calls with the same `items` are tabs of one browser. */
export function testSecret(items = new Map<string, string>()) {
  return createOriginSecret({
    getItem: key => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: key => void items.delete(key),
  })
}

/** Provides the services of an app, so that stores work outside of components. The stores end with the test. */
export function withServices(answers: Partial<ApiClient>, events = testEvents(), host: Partial<Host> = {}) {
  const app = createApp({})
  const pinia = createPinia()
  app.use(pinia)
  const secret = testSecret()
  const localProof = {
    headers: () => ({}),
    ask: () => Promise.resolve(null),
    prove: (code: string) => Promise.resolve(code === 'right'),
  }
  const api = testApi(answers)
  provideServices(app, { api, events, host: host as Host, secret, localProof })
  setActivePinia(pinia)
  // A store that is not disposed would hear sign-ins and sign-outs of other tests, even in other files.
  onTestFinished(() => disposePinia(pinia))
  return { app, api, events, pinia, secret }
}
