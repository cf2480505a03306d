import {
  HOST_EVENTS,
  HOST_EVENTS_PATH,
  HOST_METHODS,
  pathOf,
  type HostApi,
  type HostBridge,
  type HostEvents,
  type HostEventsBridge,
  type Reply,
} from '#proxy/contract'
import { AppError, fromProblem, isAppError, isErrorCode, isProblem } from '#manager/contract'
import { connectSse, type SseConnection } from './api/sse-client.ts'

type Listener<E extends keyof HostEvents> = (payload: HostEvents[E]) => void

/** HostApi for the page: methods that throw AppErrors, and events. */
export interface Host extends HostApi {
  /** True if the page runs in the desktop app; known before anyone is signed in. */
  readonly isDesktop: boolean
  /** Subscribes to an event. @returns a function that stops listening */
  on<E extends keyof HostEvents>(event: E, listener: Listener<E>): () => void
  /** Reconnects the events, which ended with the previous sign-in; call it after signing in. */
  reconnect(): void
}

/** The properties that the preload script of the desktop app adds to `window`. */
export interface HostWindow {
  readonly host?: HostBridge
  readonly hostEvents?: HostEventsBridge
}

export interface HostDeps {
  readonly window: HostWindow
  /** A `fetch` that sends the sign-in of the page. */
  readonly fetch: typeof fetch
  /** Adopts a newer sign-in of another tab. @returns whether it is of the same person, so that this page continues with it */
  readonly renewSignIn: () => Promise<boolean>
}

/** Creates the host: the desktop app if there is one, else the same interface over HTTP. Only this file knows which. */
export function createHost(deps: HostDeps): Host {
  const { host, hostEvents } = deps.window
  if (host && hostEvents) {
    const bridge = host as unknown as Record<string, Record<string, (...args: unknown[]) => Promise<Reply<unknown>>>>
    return {
      isDesktop: true,
      ...mapMethods((group, method) => async (...args) => {
        const call = bridge[group]?.[method]
        if (!call)
          throw new AppError('internal', {
            why: `The desktop app does not support ${group}.${method}. Update the app.`,
          })
        return valueOf(await call(...args))
      }),
      // Electron copies the return value of a listener back to the main process, and fails if it cannot be copied.
      on: (event, listener) =>
        hostEvents.on(event, payload => {
          listener(payload)
        }),
      reconnect: () => undefined,
    }
  }
  return {
    isDesktop: false,
    ...mapMethods(
      (group, method) =>
        async (...args) =>
          valueOf(await call(deps, pathOf(group, method), args)),
    ),
    ...createHttpEvents(deps.fetch),
  }
}

type Method = (...args: unknown[]) => Promise<unknown>

function mapMethods(toMethod: (group: string, method: string) => Method): HostApi {
  return Object.fromEntries(
    Object.entries(HOST_METHODS).map(([group, methods]) => [
      group,
      Object.fromEntries(Object.keys(methods).map(method => [method, toMethod(group, method)])),
    ]),
  ) as unknown as HostApi
}

/** Unwraps a reply. An Error loses its code in IPC and HTTP, so it travels as data and is thrown here. */
function valueOf(reply: Reply<unknown>): unknown {
  if (reply.ok) return reply.value
  throw new AppError(isErrorCode(reply.error.code) ? reply.error.code : 'internal', reply.error.detail)
}

/** Calls the host, and retries once if only this page's sign-in had ended, like the client of the manager. */
async function call(deps: HostDeps, path: string, args: unknown[]): Promise<Reply<unknown>> {
  try {
    return await post(deps, path, args)
  } catch (error) {
    if (!isAppError(error) || error.code !== 'not_signed_in' || !(await deps.renewSignIn())) throw error
    return await post(deps, path, args)
  }
}

async function post({ fetch }: HostDeps, path: string, args: unknown[]): Promise<Reply<unknown>> {
  const unavailable = (why: string, cause?: unknown) => new AppError('unavailable', { why }, { cause })
  const reply = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(args),
  }).catch((error: unknown) => {
    throw unavailable('The local proxy does not answer. Is Berth still running on this computer?', error)
  })
  const body: unknown = await reply.json().catch(() => undefined)
  if (isReply(body)) return body
  // The request was refused before it was executed; the body is the proxy's or the manager's reason.
  if (isProblem(body)) throw fromProblem(body)
  if (reply.status === 401) throw new AppError('not_signed_in')
  throw unavailable(`The local proxy answered with HTTP ${reply.status}.`)
}

function isReply(body: unknown): body is Reply<unknown> {
  return (
    typeof body === 'object' &&
    body !== null &&
    'ok' in body &&
    ('value' in body || 'error' in body || body.ok === true)
  )
}

/** Events over HTTP: one stream for the whole page, open while anyone listens. */
function createHttpEvents(fetch: HostDeps['fetch']): Pick<Host, 'on' | 'reconnect'> {
  const listeners = new Map<string, Set<(payload: never) => void>>()
  let connection: SseConnection | undefined

  const open = () =>
    connectSse({
      fetch,
      url: () => HOST_EVENTS_PATH,
      onEvent: ({ event, data }) => {
        if (!Object.hasOwn(HOST_EVENTS, event)) return
        const payload = JSON.parse(data) as never
        for (const listener of listeners.get(event) ?? []) listener(payload)
      },
    })

  return {
    on(event, listener) {
      const set = listeners.get(event) ?? new Set()
      listeners.set(event, set.add(listener))
      connection ??= open()
      return () => {
        set.delete(listener)
        if (set.size === 0) listeners.delete(event)
        if (listeners.size > 0) return
        connection?.close()
        connection = undefined
      }
    },
    reconnect: () => connection?.reconnect(),
  }
}
