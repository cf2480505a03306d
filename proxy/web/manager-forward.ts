import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, type ServerResponse } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { AppError, because, CONSOLE_SECRET_HEADER } from '#manager/contract'
import { containedBy } from '../http/contain.ts'
import { forwardRequest, type Upstream } from '../http/forward.ts'
import { forwardUpgrade } from '../http/forward-upgrade.ts'
import { hasBody, mapHeaders } from '#base/raw-headers'
import { closeIfEarly } from '../http/when-uploaded.ts'
import { type Log } from '../log.ts'
import { answerProblem, answerProblemRaw } from './answers.ts'
import { createFairCallQueue, type FairCallQueueOptions } from './fair-call-queue.ts'
import { callerOf } from './caller-of.ts'
import { clientOf } from './client.ts'
import { signInCookies } from './sign-in-cookies.ts'
import { readPath } from './read-path.ts'
import { createTurnstile } from './turnstile.ts'

const FORWARDED = /^\/(api|stream|agent)(\/|$|\?)|^\/(healthz|readyz|metrics|mcp)($|\?)|^\/scim\/v2\//
/** Fields that only a forwarder sets. */
const isOurs = (name: string) =>
  name === 'forwarded' || name === CONSOLE_SECRET_HEADER || name.startsWith('x-forwarded-')
/**
 * Maximum number of connections to the manager for ordinary calls; further calls wait. Far above the number of concurrent
 * requests of browsers: the manager ends a request that does not arrive within 30 seconds. `fair-call-queue.ts` shares them among
 * callers.
 */
const MAX_CALLS = 1024
/** Limits for calls whose arguments are still arriving: those of ordinary clients arrive within a moment. */
const MOST_ARRIVING = { most: MAX_CALLS / 2, mostOfOne: 64 }
/** Whether a request has arguments. Files have other content types: where no file is expected, the manager refuses these at once. */
const bringsArguments = (request: IncomingMessage) =>
  hasBody(request.rawHeaders) && /^(application\/json\b|$)/i.test(request.headers['content-type'] ?? '')
/** Event streams stay open, so each has its own connection and takes none from the calls. The manager bounds those of a sign-in and of a person. */
const isStream = (target: string) => readPath(target) === '/api/v1/events'
/** Tunnels, connections of agents, and terminals. */
const TUNNEL = /^\/(stream|agent)\/|^\/api\/v1\/sessions\/[^/]+\/terminal$/
/** Whether the manager turns requests at this address into tunnels, which the limits of calls do not apply to. */
export const isTunnel = (target: string) => TUNNEL.test(readPath(target))
/** True for paths that belong to the manager. */
export const isManagerPath = (target: string) => FORWARDED.test(target)

export interface ForwardDeps {
  readonly trustedProxies?: readonly string[] | undefined
  /** Secret shared with the manager; sent to the manager only. */
  readonly consoleSecret?: string | undefined
  /** Connections by the proxy of the network; direct ones if left out. */
  readonly agent?: RequestOptions['agent']
  /** Connections for ordinary calls, and how they are shared; for tests. */
  readonly callQueue?: FairCallQueueOptions
  readonly log: Log
}

/**
 * Forwards requests and upgrades to one origin, streaming both ways.
 *
 * Threat model: our own Host and Origin checks come first; the far end then sees its own name as Host and Origin, and the
 * browser's name for us as `x-forwarded-host`. The manager trusts that field because of the secret that it shares with us. A
 * client's own claims in such fields are dropped, except a trusted reverse proxy's report about its client (`client.ts`).
 * A stranger who sends the arguments of a sign-in slowly, or does not read an answer, would hold a connection to the manager, and so
 * would a person whose calls wait for an agent: all are limited (`turnstile.ts`, `fair-call-queue.ts`).
 */
export function createForward(
  url: string,
  kind: 'manager' | 'page',
  { trustedProxies = [], consoleSecret, agent: byProxy, callQueue = { most: MAX_CALLS }, log }: ForwardDeps,
) {
  const target = new URL(url)
  const isTls = target.protocol === 'https:'
  const pool = { keepAlive: true, maxSockets: callQueue.most }
  const ownPool = isTls ? new HttpsAgent(pool) : new HttpAgent(pool)
  const agent = byProxy ?? ownPool
  const unpooled = byProxy ?? false
  const options: RequestOptions = {
    protocol: target.protocol,
    host: target.hostname.replace(/^\[|\]$/g, ''),
    port: target.port || (isTls ? 443 : 80),
  }

  function upstream(request: IncomingMessage, more: RequestOptions): Upstream {
    const host = request.headers.host ?? ''
    const client = clientOf(request, trustedProxies)
    return {
      options: { ...options, ...more },
      headers: raw => [
        ...mapHeaders(raw, (name, value) => {
          if (name === 'host') return target.host
          if (name === 'origin') return target.origin
          if (name === 'cookie' && kind === 'manager') return signInCookies(value) || undefined
          return isOurs(name) ? undefined : value
        }),
        'X-Forwarded-Host',
        host,
        'X-Forwarded-For',
        client.address,
        'X-Forwarded-Proto',
        client.scheme,
        ...(consoleSecret === undefined ? [] : [CONSOLE_SECRET_HEADER, consoleSecret]),
      ],
      log,
    }
  }

  const arriving = createTurnstile(MOST_ARRIVING)
  const calls = createFairCallQueue(callQueue)
  /** Calls of a connection that wait for earlier ones. */
  const waiting = new WeakMap<Socket, (() => void)[]>()
  /**
   * Sends a pipelined request on once the request before it was answered, because answers go out in the order of their requests
   * (RFC 9112 section 9.3.2). So one connection of a client takes one connection to the manager. A request that waited is sent
   * on by a listener, so it is contained.
   */
  function inTurn({ socket }: IncomingMessage, response: ServerResponse, send: () => void) {
    const run = () => {
      response.once('close', () => {
        const next = socket.destroyed ? undefined : waiting.get(socket)?.shift()
        if (next) next()
        else waiting.delete(socket)
      })
      send()
    }
    const queue = waiting.get(socket)
    if (queue) queue.push(containedBy(response, log)(run))
    else {
      waiting.set(socket, [])
      run()
    }
  }

  const unavailable = (error: Error) =>
    new AppError('unavailable', because(kind === 'manager' ? 'manager_away' : 'page_server_away'), { cause: error })

  return {
    request(request: IncomingMessage, response: ServerResponse) {
      const hasOwn = isStream(request.url ?? '')
      const connection = { agent: hasOwn ? unpooled : agent }
      const contained = containedBy(response, log)
      const send = contained(() => {
        // The body is not read before its request is admitted.
        if (bringsArguments(request)) arriving.enter(clientOf(request, trustedProxies).address, request)
        forwardRequest(request, response, upstream(request, connection), error => {
          answerProblem(response, unavailable(error))
        })
      })
      const refuse = contained(() => {
        closeIfEarly(request, response)
        answerProblem(response, new AppError('rate_limited', { ...because('calls_waiting'), whySaysNext: true }))
      })
      inTurn(request, response, () => {
        if (hasOwn) send()
        else {
          const caller = callerOf(request, clientOf(request, trustedProxies).address)
          calls.enter({ response, caller, begin: send, refuse })
        }
      })
    },
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
      forwardUpgrade(request, socket, head, upstream(request, { agent: unpooled }), error => {
        answerProblemRaw(socket, unavailable(error))
      })
    },
    close: () => {
      calls.close()
      ownPool.destroy()
    },
  }
}
export type Forward = ReturnType<typeof createForward>
