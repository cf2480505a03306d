import { type IncomingMessage } from 'node:http'
import { type Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { AppError, type Session } from '#manager/contract'
import { type Upgrades } from '../../agent-link/upgrades.ts'
import { type Log } from '../../log.ts'
import { adopt } from '../adopted.ts'
import { WEB_PREFIX } from './admit.ts'
import { NotOffered } from './errors.ts'
import { createExecution } from './execute.ts'
import { findSession } from './find.ts'
import { factsOf, type OwnCalls, type Sender } from './own-calls.ts'

export interface CompatUpgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly sender: Sender
  readonly calls: OwnCalls
  readonly upgrades: Upgrades
  /** Counts an execution as a request of its sender, until it is over. @throws AppError `rate_limited` */
  readonly takeTurn: () => Disposable
  /** Milliseconds since 1970, by the clock of the database. */
  readonly now: () => number
  readonly log: Log
}

/** Most bytes of one message: code that a client sends. */
const MOST_MESSAGE = 256 * 1024
const webSockets = new WebSocketServer({ noServer: true, maxPayload: MOST_MESSAGE, perMessageDeflate: false })

/**
 * Takes over an upgrade whose sender is known: a tunnel to an app, which the gateway of Berth's own tunnels then admits and serves as any
 * other, or an execution of code. Sessions may be named as the user typed them.
 *
 * @throws AppError as `findSession`, `rate_limited`; NotOffered for other streams
 */
export async function takeUpgrade(upgrade: CompatUpgrade): Promise<void> {
  const { request, socket, head, sender, calls, upgrades } = upgrade
  const path = request.url?.startsWith(`${WEB_PREFIX}/`) ? request.url.slice(WEB_PREFIX.length) : request.url
  const url = new URL(path ?? '/', 'http://manager')
  const [, kind, name] = /^\/stream\/(?:session|kernel)\/([^/]+)\/(\w+)$/.exec(url.pathname) ?? []
  if (kind === undefined || name === undefined) throw new AppError('not_found')
  const session = await findSession(calls.api, decodeURIComponent(kind))
  if (name === 'execute') {
    execute(upgrade, session)
    return
  }
  if (name !== 'tcpproxy' && name !== 'httpproxy') throw new NotOffered(`Berth has no stream "${name}".`)
  const app = url.searchParams.get('app') ?? url.searchParams.get('service') ?? ''
  const target = `/stream/session/${session.id}/tcpproxy?app=${encodeURIComponent(app)}`
  vouchFor(upgrade, sender)
  request.url = target
  const place = new URL(target, 'http://manager')
  const handler = upgrades.find(place)
  if (!handler) throw new AppError('not_found')
  await handler(request, socket, head, place)
}

/** From here on the connection is a tunnel, so nothing else can come by it. */
function vouchFor({ request, now }: CompatUpgrade, sender: Sender): void {
  delete request.headers.cookie
  delete request.headers.authorization
  if (sender.kind === 'token') request.headers.authorization = `Bearer ${sender.token}`
  adopt(request.socket, factsOf(sender, now()))
}

function execute({ request, socket, head, calls, takeTurn, log }: CompatUpgrade, session: Session): void {
  if (socket.destroyed) return
  const turn = takeTurn()
  socket.once('close', () => turn[Symbol.dispose]())
  webSockets.handleUpgrade(request, socket, head, client => {
    const left = new AbortController()
    const execution = createExecution({
      api: calls.api,
      session,
      signal: left.signal,
      // A connection that has ended aborts the execution.
      say: answer => new Promise(resolve => client.send(JSON.stringify(answer), () => resolve())),
      end: () => client.close(1000),
    })
    client.on('error', error => log.debug({ err: error }, 'execution failed'))
    client.once('close', () => left.abort())
    client.on('message', (data: Buffer) => execution.take(data.toString()))
  })
}
