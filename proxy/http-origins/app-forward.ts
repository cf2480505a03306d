import { type IncomingMessage, type RequestOptions, type ServerResponse } from 'node:http'
import { type Duplex } from 'node:stream'
import { ERRORS, toWireError, type WireError } from '#manager/contract'
import { verdictOf } from '../grants/verdict.ts'
import { Connections } from '../http/connections.ts'
import { forwardRequest, type Upstream } from '../http/forward.ts'
import { forwardUpgrade } from '../http/forward-upgrade.ts'
import { type RawHeaders } from '#base/raw-headers'
import { answerRaw, type RawAnswer } from '../http/raw-answer.ts'
import { type Log } from '../log.ts'
import { type BrokenAnswer, brokenAnswerOf } from './broken-answer.ts'
import { languageOf, type PageLanguage } from './page-language.ts'
import { PAGE_HEADERS } from './pages.ts'

export interface AppFailure extends WireError {
  /** Whether to retry: the app may still be starting. */
  readonly retry: boolean
  readonly broken: BrokenAnswer | undefined
  readonly language: PageLanguage
}

export interface AppForwardDeps {
  /** A byte stream to the app. @throws AppError */
  readonly connect: (signal: AbortSignal) => Promise<Duplex>
  /** Final change of the headers of a request, and of its answer. */
  readonly requestHeaders: (request: IncomingMessage, raw: RawHeaders) => string[]
  readonly answerHeaders: (request: IncomingMessage, raw: RawHeaders, status: number) => string[]
  /** Page for a request that got no answer from the app. */
  readonly failurePage: (failure: AppFailure) => string
  /** In place of the page, for programs. */
  readonly failureAnswer?: (failure: AppFailure) => RawAnswer
  readonly log: Log
}

/** Forwards admitted requests and upgrades to one app, through pooled tunnels. */
export interface AppForward {
  request(request: IncomingMessage, response: ServerResponse): void
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Answers with the page of a failure. */
  fail(response: ServerResponse, error: unknown): void
  failUpgrade(socket: Duplex, error: unknown): void
  close(): void
}

export function createAppForward(deps: AppForwardDeps): AppForward {
  const closing = new AbortController()
  const connections = new Connections(() => deps.connect(closing.signal), deps.log)

  function upstream(request: IncomingMessage, options: RequestOptions): Upstream {
    return {
      options,
      headers: raw => deps.requestHeaders(request, raw),
      answerHeaders: (raw, status) => deps.answerHeaders(request, raw, status),
      log: deps.log,
    }
  }

  function describe(error: unknown, language: PageLanguage) {
    const wire = toWireError(error)
    const isCoded = wire.code !== 'internal'
    const code = isCoded ? wire.code : 'tunnel_failed'
    const message = isCoded ? wire.message : 'The connection to the app broke before it answered.'
    const broken = isCoded ? undefined : brokenAnswerOf(error)
    // An app whose answer cannot be parsed is nevertheless running.
    const isRunning = broken !== undefined && broken.kind !== 'none'
    const retry = ERRORS[code].retry && verdictOf(error) !== 'ended' && !isRunning
    const failure = { ...wire, code, message, retry, broken, language }
    const answer = deps.failureAnswer?.(failure)
    if (answer) return { retry, ...answer }
    const status = ERRORS[code].status === 401 ? 502 : ERRORS[code].status
    return { retry, status, type: PAGE_HEADERS['content-type'], body: deps.failurePage(failure) }
  }

  function fail(response: ServerResponse, error: unknown) {
    const failure = describe(error, languageOf(response))
    const headers = { ...PAGE_HEADERS, 'content-type': failure.type }
    response.writeHead(failure.status, { ...headers, ...(failure.retry ? { 'retry-after': '3' } : {}) })
    response.end(failure.body)
  }

  function failUpgrade(socket: Duplex, error: unknown) {
    // Browsers show no page for a refused WebSocket.
    const { status, type, body } = describe(error, 'en')
    answerRaw(socket, { status, type, body })
  }

  return {
    request(request, response) {
      forwardRequest(request, response, { ...upstream(request, {}), connections }, error => {
        fail(response, error)
      })
    },
    upgrade(request, socket, head) {
      const gone = new AbortController()
      socket.once('close', () => {
        gone.abort(new Error('the browser went away'))
      })
      const options: RequestOptions = {
        createConnection: (_, done) => {
          deps.connect(AbortSignal.any([closing.signal, gone.signal])).then(
            tunnel => {
              done(null, tunnel)
            },
            (error: unknown) => {
              ;(done as (error: unknown) => void)(error)
            },
          )
          return undefined
        },
      }
      forwardUpgrade(request, socket, head, upstream(request, options), error => failUpgrade(socket, error))
    },
    fail,
    failUpgrade,
    close() {
      closing.abort(new Error('the tunnel was closed'))
      connections.close()
    },
  }
}
