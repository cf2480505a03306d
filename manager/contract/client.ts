import { type z } from 'zod'
import { AppError, fromProblem, isAppError, Problem } from './errors.ts'
import { ROUTES, type RouteName, type RouteSpec } from './routes.ts'
import { type SignableRequest } from './sign-request.ts'

/** Structural: this file sees neither DOM nor Node. Hand in an AbortSignal. */
export interface AbortSignalLike {
  readonly aborted: boolean
}

type Part<R, K extends 'params' | 'query' | 'body'> = R extends { readonly [P in K]: infer S extends z.ZodType }
  ? { readonly [P in K]: z.input<S> }
  : { readonly [P in K]?: undefined }
export type RouteInput<N extends RouteName> = Part<(typeof ROUTES)[N], 'params'> &
  Partial<Part<(typeof ROUTES)[N], 'query'>> &
  Part<(typeof ROUTES)[N], 'body'> & {
    readonly signal?: AbortSignalLike
    readonly headers?: Readonly<Record<string, string>>
  }
export type RouteReply<N extends RouteName> = z.output<(typeof ROUTES)[N]['reply']>
type Arguments<N extends RouteName> = object extends RouteInput<N> ? [input?: RouteInput<N>] : [input: RouteInput<N>]

/** `api.createSession({ body })`, one function per route. @throws AppError with the server's code, or `unavailable` */
export type ApiClient = { readonly [N in RouteName]: (...input: Arguments<N>) => Promise<RouteReply<N>> }

interface HttpReply {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

export interface ClientDeps {
  /** Structural `fetch`: `(url, init) => fetch(url, init as RequestInit)`. Its coded errors are the caller's; others mean `unavailable`. */
  readonly fetch: (
    url: string,
    init: { method: string; headers: Record<string, string>; body?: string; signal?: AbortSignalLike },
  ) => Promise<HttpReply>
  /** `''` in a page of the same origin, else e.g. `http://127.0.0.1:8090`. */
  readonly baseUrl: string
  /** Read for every request: credentials may change. */
  readonly headers?: () => Readonly<Record<string, string>>
  /** Instead of a sign-in: headers that sign exactly this request. */
  readonly sign?: (request: SignableRequest) => Promise<Readonly<Record<string, string>>>
}

export function createClient(deps: ClientDeps): ApiClient {
  const entries = Object.entries(ROUTES).map(([name, route]) => [
    name,
    (input: AnyInput = {}) => call(deps, route, input),
  ])
  return Object.fromEntries(entries) as ApiClient
}

interface AnyInput {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
  signal?: AbortSignalLike
  headers?: Readonly<Record<string, string>>
}

async function call(deps: ClientDeps, route: RouteSpec, input: AnyInput): Promise<unknown> {
  const path = route.path.replace(/:(\w+)/g, (_, key: string) => encodeURIComponent(String(input.params?.[key])))
  const query = Object.entries(input.query ?? {}).filter(([, value]) => value !== undefined)
  const search = query.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&')
  const url = deps.baseUrl + path + (search && `?${search}`)
  const body = input.body === undefined ? undefined : JSON.stringify(input.body)
  const signed = await deps.sign?.({ method: route.method, url, body })
  const headers = { accept: 'application/json', ...deps.headers?.(), ...signed, ...input.headers }
  const init = {
    method: route.method,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
    ...(input.signal ? { signal: input.signal } : {}),
  }
  const unanswered = (error: unknown): never => {
    if (input.signal?.aborted || isAppError(error)) throw error
    throw new AppError('unavailable', { why: 'The manager does not answer.' }, { cause: error })
  }
  const reply = await deps.fetch(url, init).catch(unanswered)
  const text = await reply.text().catch(unanswered)
  if (reply.status >= 400) throw toError(reply, text)
  if (text === '' && reply.status === 204) return undefined
  return JSON.parse(text)
}

function toError(reply: HttpReply, text: string): AppError {
  if (reply.headers.get('content-type')?.startsWith('application/problem+json')) {
    const problem = Problem.safeParse(JSON.parse(text))
    if (problem.success) return fromProblem(problem.data)
  }
  return new AppError(reply.status >= 500 ? 'unavailable' : 'internal', { why: `HTTP ${reply.status}` })
}
