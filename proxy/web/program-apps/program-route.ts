import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Duplex } from 'node:stream'
import { type ApiClient, AppError, type Grant, type SessionId, toProblem, type WireError } from '#manager/contract'
import { injectionOf } from '../../grants/injection.ts'
import { createPath } from '../../grants/path.ts'
import { createAppForward } from '../../http-origins/app-forward.ts'
import { openAppStream } from '../../local/app-stream.ts'
import { type Transport } from '../../local/transport.ts'
import { type Log } from '../../log.ts'
import { type Client } from '../client.ts'
import { programAnswer, programHeaders } from './program-request.ts'

export interface ProgramRouteDeps {
  /** Calls of the manager with the token of the program. */
  readonly api: Pick<ApiClient, 'grantToProgram' | 'renewGrant'>
  readonly sessionId: SessionId
  readonly app: string
  readonly token: string
  readonly transport: Transport
  readonly clientOf: (request: IncomingMessage) => Client
  /** Called when the right has ended; nothing is forwarded any more. */
  readonly onEnded: () => void
  readonly log: Log
}

/** Forwards the requests of one access token to one app. */
export interface ProgramRoute extends Disposable {
  /** Gets the right to the app, before the first request. @throws AppError */
  open(): Promise<void>
  request(request: IncomingMessage, response: ServerResponse): void
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Open requests and sockets. */
  readonly used: number
}

export function createProgramRoute(deps: ProgramRouteDeps): ProgramRoute {
  const { api, sessionId, app, token, transport, clientOf } = deps
  let inject: Grant['inject'] = null
  let speaksTls = false
  let used = 0
  /** Why the right has ended: requests that wait then hear it too. */
  let over: WireError | undefined

  const path = createPath({
    api: { createGrant: input => api.grantToProgram(input), renewGrant: api.renewGrant },
    sessionId,
    app,
    dial: (grant, signal) => {
      learn(grant)
      return transport.dial(grant, signal)
    },
    onChange(state, error) {
      if (state !== 'ended' && state !== 'signed_out' && error?.code !== 'forbidden') return
      over ??= error ?? undefined
      // Behind this call, because the path has not noted its state yet.
      queueMicrotask(deps.onEnded)
    },
  })

  const prefix = `/apps/${sessionId}/${app}`
  const forward = createAppForward({
    connect: signal => openAppStream({ path, transport, speaksTls: () => speaksTls }, signal),
    requestHeaders(request, raw) {
      const { address, scheme } = clientOf(request)
      const host = request.headers.host ?? ''
      return programHeaders(raw, { token, inject, address, scheme, host, prefix })
    },
    answerHeaders(request, raw) {
      const { url: target = '/', headers } = request
      return programAnswer(raw, { prefix, scheme: clientOf(request).scheme, host: headers.host ?? '', target })
    },
    failurePage: () => '',
    failureAnswer: failure => {
      const { code, detail } = over ?? failure
      const problem = toProblem(new AppError(code, { why: failure.message, ...detail }))
      return { status: problem.status, type: 'application/problem+json', body: JSON.stringify(problem) }
    },
    log: deps.log,
  })

  function learn(grant: Grant): void {
    inject = injectionOf(grant)
    speaksTls = grant.app.protocol === 'https'
  }

  function use(connection: ServerResponse | Duplex): void {
    used++
    connection.once('close', () => used--)
  }

  return {
    async open() {
      learn(await path.grant())
    },
    request(request, response) {
      use(response)
      forward.request(request, response)
    },
    upgrade(request, socket, head) {
      use(socket)
      forward.upgrade(request, socket, head)
    },
    get used() {
      return used
    },
    [Symbol.dispose]() {
      path[Symbol.dispose]()
      forward.close()
    },
  }
}
