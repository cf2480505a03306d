import { isTooDeep } from '#base/deep-json'
import { defined } from '#base/defined'
import { type Because, type CauseKey } from '../causes/causes.ts'
import { AppError, fromProblem, isAppError, isProblem } from '../errors.ts'
import type { RouteSpec } from '../routes/route-spec.ts'
import type { SignableRequest } from './sign-request.ts'

/** Structural type, because this file is compiled without the types of DOM and Node. Pass an AbortSignal. */
export interface AbortSignalLike {
  readonly aborted: boolean
}

export interface HttpReply {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

export interface ClientDeps {
  /**
   * Structural `fetch`: `(url, init) => fetch(url, init as RequestInit)`. An AppError that it throws reaches the caller;
   * any other error becomes `unavailable`.
   */
  readonly fetch: (
    url: string,
    init: { method: string; headers: Record<string, string>; body?: string; signal?: AbortSignalLike },
  ) => Promise<HttpReply>
  /** `''` in a page of the same origin, else e.g. `http://127.0.0.1:8090`. */
  readonly baseUrl: string
  /** Called for every request, because credentials may change. */
  readonly headers?: () => Readonly<Record<string, string>>
  /**
   * Pauses before a retry. With it, a request that is safe to repeat (a GET, or one with an idempotency key) is sent again if no answer
   * came, or if the first request is still in progress; a request with a key is also sent again after `unavailable`. Without it every
   * request is sent once.
   */
  readonly wait?: (ms: number) => Promise<void>
  /** Makes headers that sign exactly this request; used instead of a sign-in. */
  readonly sign?: (request: SignableRequest) => Promise<Readonly<Record<string, string>>>
  /** Ends a call that has no signal of its own; asked with the call's method. */
  readonly defaultSignal?: (method: string) => AbortSignalLike | undefined
}

/** The part of a route that a caller needs. */
export type CalledRoute = Pick<RouteSpec, 'method' | 'path' | 'idempotencyKey'>

/** Parts of one call; not checked here. */
export interface RouteCall {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
  readonly signal?: AbortSignalLike
  readonly headers?: Readonly<Record<string, string>>
}

/** Pauses before the further attempts of a GET, in milliseconds. */
const PAUSES_MS = [100, 400]
/** Pauses of a request with an idempotency key: more attempts, because somebody waits for the result. */
const KEYED_PAUSES_MS = [...PAUSES_MS, 1_500, 3_000]

/** Calls a route. @returns the answer as received. @throws AppError with the server's code, or `unavailable` */
export async function callRoute(deps: ClientDeps, route: CalledRoute, input: RouteCall): Promise<unknown> {
  const path = route.path.replace(/:(\w+)/g, (_, key: string) =>
    encodeURIComponent(String(input.params?.[key]).toWellFormed()),
  )
  const query = Object.entries(input.query ?? {}).filter(([, value]) => value !== undefined)
  const search = query.map(([key, value]) => `${key}=${encodeURIComponent(String(value).toWellFormed())}`).join('&')
  const url = deps.baseUrl + path + (search && `?${search}`)
  const body = input.body === undefined ? undefined : JSON.stringify(input.body)
  const key = route.idempotencyKey ? { 'idempotency-key': newKey() } : {}
  const signal = defined({ signal: input.signal ?? deps.defaultSignal?.(route.method) })
  const request: ReadyRequest = {
    url,
    body,
    route,
    input: { ...input, ...signal, headers: { ...key, ...input.headers } },
  }
  for (const pause of pausesOf(deps, route)) {
    const reply = await send(deps, request)
    if (!mayRepeat(reply, request)) return valueOf(reply)
    await deps.wait?.(pause)
  }
  return valueOf(await send(deps, request))
}

interface ReadyRequest {
  readonly url: string
  readonly body: string | undefined
  readonly route: CalledRoute
  readonly input: RouteCall
}
type Outcome = { readonly value: unknown } | { readonly error: unknown; readonly answered: boolean }

function pausesOf({ wait }: ClientDeps, route: CalledRoute): readonly number[] {
  if (!wait) return []
  if (route.idempotencyKey) return KEYED_PAUSES_MS
  return route.method === 'GET' ? PAUSES_MS : []
}

function mayRepeat(outcome: Outcome, { route, input }: ReadyRequest): boolean {
  if (!('error' in outcome) || input.signal?.aborted || !isAppError(outcome.error)) return false
  const { code } = outcome.error
  if (code === 'request_in_progress') return true
  return code === 'unavailable' && (!outcome.answered || route.idempotencyKey === true)
}

function valueOf(outcome: Outcome): unknown {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

async function send(deps: ClientDeps, { url, body, route, input }: ReadyRequest): Promise<Outcome> {
  // A signature is single-use: each attempt gets its own. Without a signature nothing is awaited, so that a page's request leaves before
  // the page is drawn.
  const signed = deps.sign && (await deps.sign({ method: route.method, url, body }))
  const headers = { accept: 'application/json', ...deps.headers?.(), ...signed, ...input.headers }
  const init = {
    method: route.method,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...defined({ body }),
    ...(input.signal ? { signal: input.signal } : {}),
  }
  let reply: HttpReply
  let text: string
  try {
    reply = await deps.fetch(url, init)
    text = await reply.text()
  } catch (error) {
    if (input.signal?.aborted || isAppError(error)) return { error, answered: false }
    const away = byKey('manager_away', 'The server does not answer.')
    return { error: new AppError('unavailable', away, { cause: error }), answered: false }
  }
  if (reply.status >= 400) return { error: toError(reply, text), answered: true }
  if (text === '' && reply.status === 204) return { value: undefined }
  const parsed = parseAnswer(text)
  return parsed ?? { error: notAManager(url), answered: true }
}

/** Like `because()`, but for the page, which has no table of the English texts. */
const byKey = (cause: CauseKey, why: string, values?: Record<string, string | number>): Because => ({
  ...{ why, cause },
  ...(values ? { values } : {}),
})

/** Parses JSON; undefined for other text: a captive portal, or another program at the address, answers with a page. */
function parseAnswer(text: string): { value: unknown } | undefined {
  if (isTooDeep(text)) return undefined
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

function notAManager(url: string): AppError {
  const where = /^https?:\/\/[^/]+/.exec(url)?.[0] ?? 'this address'
  return new AppError(
    'unavailable',
    byKey('not_a_manager', `The server at ${where} is not a Berth manager. Check the address.`, { where }),
  )
}

function toError(reply: HttpReply, text: string): AppError {
  if (reply.headers.get('content-type')?.startsWith('application/problem+json')) {
    const problem = parseAnswer(text)?.value
    if (isProblem(problem)) return fromProblem(problem)
  }
  return new AppError(
    reply.status >= 500 ? 'unavailable' : 'internal',
    byKey('http_status', `HTTP ${reply.status}`, { status: reply.status }),
  )
}

/** Global of browsers and Node alike; declared because their types are not visible here. */
declare const crypto: { getRandomValues(bytes: Uint8Array): Uint8Array }

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}
