import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Duplex } from 'node:stream'
import { type ApiClient, type AppsAddress, authorityOf, type Grant, type ServedApp } from '#manager/contract'
import { injectionOf } from '../../grants/injection.ts'
import { createPath, type PathDeps } from '../../grants/path.ts'
import { type AppForwardDeps, createAppForward } from '../../http-origins/app-forward.ts'
import { answerHeaders } from '../../http-origins/app-origin.ts'
import { createHostChoice } from '../../http-origins/host-choice.ts'
import { openAppStream } from '../../local/app-stream.ts'
import { type Transport } from '../../local/transport.ts'
import { type Log } from '../../log.ts'
import { publicAnswer, visitorHeaders } from './visitor-headers.ts'

export interface AppRouteDeps {
  readonly served: ServedApp
  readonly address: AppsAddress
  /** Creates a new grant for the app. @throws AppError */
  readonly createGrant: PathDeps['api']['createGrant']
  readonly api: Pick<ApiClient, 'renewGrant'>
  readonly transport: Transport
  readonly addressOf: (request: IncomingMessage) => string
  readonly failurePage: AppForwardDeps['failurePage']
  /** Called when the right to the app has ended; no further request is forwarded. */
  readonly onEnded: () => void
  readonly log: Log
}

/** Forwards admitted requests to one app, with one grant: that of a link, or that of a person's sign-in. */
export interface AppRoute extends Disposable {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

export function createAppRoute(deps: AppRouteDeps): AppRoute {
  const { served, address, api, transport } = deps
  let inject: Grant['inject'] = null
  let speaksTls = false

  const path = createPath({
    api: { createGrant: deps.createGrant, renewGrant: api.renewGrant },
    sessionId: served.sessionId,
    app: served.app,
    dial: (grant, signal) => {
      learn(grant)
      return transport.dial(grant, signal)
    },
    onChange: state => {
      if (state === 'ended') deps.onEnded()
    },
  })
  // Visitors of a link use its public name, which an app may have reasons to refuse.
  const isOwn = served.admits === 'tickets'
  const names = createHostChoice({
    origin: `${address.scheme}://${authorityOf(address, served)}`,
    app: served.app,
    speaksTls: () => speaksTls,
    mayBeLocal: isOwn,
  })
  const forward = createAppForward({
    connect: signal => openAppStream({ path, transport, speaksTls: () => speaksTls }, signal),
    requestHeaders(request, raw) {
      const headers = visitorHeaders(raw, { inject, address: deps.addressOf(request), scheme: address.scheme })
      return names.requestHeaders(request, headers)
    },
    answerHeaders(request, raw, status) {
      const headers = publicAnswer(answerHeaders(raw, request.url ?? ''), address)
      return names.answerHeaders(request, headers, status)
    },
    failurePage: deps.failurePage,
    log: deps.log,
  })

  function learn(grant: Grant): void {
    inject = injectionOf(grant)
    speaksTls = grant.app.protocol === 'https'
  }

  /** Wait before the first request: without the grant the app's secret would be missing, and a visitor could send a false one. */
  async function learnSecret(): Promise<void> {
    try {
      learn(await path.grant())
    } catch (error) {
      path.judge(error)
      throw error
    }
  }

  return {
    async request(request, response) {
      try {
        await learnSecret()
      } catch (error) {
        forward.fail(response, error)
        return
      }
      if (!response.destroyed) forward.request(request, response)
    },
    async upgrade(request, socket, head) {
      try {
        await learnSecret()
      } catch (error) {
        forward.failUpgrade(socket, error)
        return
      }
      if (!socket.destroyed) forward.upgrade(request, socket, head)
    },
    [Symbol.dispose]() {
      path[Symbol.dispose]()
      forward.close()
    },
  }
}
