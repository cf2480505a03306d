import { hostname } from 'node:os'
import { z } from 'zod'
import { knownFailure } from '#proxy/certificates'
import { type Fetch, replyOf } from '#proxy/network'
import { parseJson } from '#base/parse-json'
import { AppError, because, ROUTES, toProblem, UserId } from '#manager/contract'
import { type Account } from './account.ts'
import { readablePath } from './api-path.ts'
import { type ReachLog } from './reach-log.ts'

/** Request headers that the page may set; all others (cookie, origin, authorization, forwarding) are set by us. */
const PASSED_ON = [
  'accept',
  'accept-language',
  'cache-control',
  'content-type',
  'last-event-id',
  'if-none-match',
  'range',
  'if-match',
  'if-range',
  'tus-resumable',
  'upload-length',
  'upload-metadata',
  'upload-offset',
]
/** Response headers that must not reach the page, or no longer fit the decoded body. */
const KEPT_BACK = ['set-cookie', 'content-encoding', 'content-length', 'transfer-encoding', 'connection', 'keep-alive']

/** Calls that make a sign-in. */
const SIGN_INS: ReadonlySet<string> = new Set([
  ROUTES.login.path,
  ROUTES.loginWithTicket.path,
  ROUTES.loginWithKeypair.path,
  ROUTES.finishSso.path,
])

const Signed = z.looseObject({ token: z.string().nullable(), user: z.looseObject({ id: UserId }) })

export interface ForwardDeps {
  readonly account: Account
  readonly fetch: Fetch
  /** Aborts when the computer has slept. */
  readonly untilSleep: () => AbortSignal
  readonly reach: ReachLog
}

/**
 * Whether the page itself resumes an interrupted request. After a sleep the connection may be dead without notice, and the system would
 * keep sending into it for many minutes.
 */
const isTakenUpAgain = ({ headers }: Request) =>
  headers.has('upload-offset') || headers.get('accept') === 'text/event-stream'

/**
 * Forwards `/api/*` of the page to the manager with the bearer token. The page never sees the token: for a sign-in we request a
 * token from the manager whatever the page requested, keep it, and answer without it. Bodies are streamed both ways, so that
 * the event stream and uploads work; a request that the page aborts is aborted at the manager.
 */
export async function forwardApi(
  request: Request,
  { account, fetch, untilSleep, reach }: ForwardDeps,
): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const path = readablePath(pathname)
  const isSignIn = SIGN_INS.has(path)
  const isSignOut = path === ROUTES.logout.path
  // A sign-in needs no credentials, and must be possible where the present ones are not sent.
  const own = isSignIn
    ? {}
    : await account.headers().catch((error: unknown) => {
        if (isSignOut) return null
        throw error
      })
  if (own === null) {
    await account.signOut()
    return new Response(null, { status: 204 })
  }
  const headers = new Headers(own)
  for (const name of PASSED_ON) {
    const value = request.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  const signal = isTakenUpAgain(request) ? AbortSignal.any([request.signal, untilSleep()]) : request.signal
  const body = isSignIn ? await askForToken(request) : request.body
  const answer = await fetch(account.endpoint + pathname + search, {
    method: request.method,
    headers,
    redirect: 'manual',
    signal,
    ...(body === null ? {} : { body, duplex: 'half' }),
  }).then(
    found => {
      reach.answered()
      return found
    },
    (error: unknown) => {
      if (request.signal.aborted) throw error
      // After a sleep we have ended the request ourselves.
      if (!signal.aborted) reach.failed(error)
      return problem(new AppError('unavailable', failureOf(error)))
    },
  )
  if (isSignIn && answer.ok) return keepToken(answer, account)
  if (isSignOut && (answer.ok || answer.status === 401)) await account.signOut()
  return new Response(answer.body, { status: answer.status, headers: pageHeaders(answer.headers) })
}

/** A server with another certificate does run, so the usual advice to check whether it runs is wrong; the text gives the right advice. */
function failureOf(error: unknown) {
  const failure = knownFailure(error) ?? because('manager_away')
  return failure.cause === 'certificate_changed' ? { ...failure, whySaysNext: true } : failure
}

export function problem(error: unknown): Response {
  const document = toProblem(error)
  return new Response(JSON.stringify(document), {
    status: document.status,
    headers: { 'content-type': 'application/problem+json' },
  })
}

async function askForToken(request: Request): Promise<string> {
  const text = await request.text()
  const body: unknown = parseJson(text)
  // The body is not an object: the manager's error will explain that.
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return text
  const label = ['password', 'secretKey', 'secret'].some(key => key in body)
    ? { label: `Desktop app on ${hostname()}`.slice(0, 100) }
    : {}
  return JSON.stringify({ ...body, ...label, kind: 'token' })
}

async function keepToken(answer: Response, account: Account): Promise<Response> {
  const signed = Signed.safeParse(parseJson(await replyOf(answer).text()))
  if (!signed.success || signed.data.token === null) {
    return problem(new AppError('unavailable', { why: 'The manager did not send a token to the desktop app.' }))
  }
  await account.signIn(signed.data.token, signed.data.user.id)
  return new Response(JSON.stringify({ ...signed.data, token: null }), {
    status: answer.status,
    headers: { ...Object.fromEntries(pageHeaders(answer.headers)), 'content-type': 'application/json' },
  })
}

function pageHeaders(from: Headers): Headers {
  const headers = new Headers(from)
  for (const name of KEPT_BACK) headers.delete(name)
  return headers
}
