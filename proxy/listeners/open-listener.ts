import { type Socket } from 'node:net'
import { AppError, type Because, because, isAppError } from '#manager/contract'
import { listenOnLoopback, type LoopbackListener } from './loopback-listener.ts'
import { findPortHolder, type PortHolder } from './port-holder.ts'

export interface ListenerRequest {
  /** Port requested by the user: if it is taken or reserved, an error, or a random port if the user chose that. */
  readonly wanted: number | undefined
  /** Port used last time: if it is taken or reserved, silently replaced by another one. */
  readonly remembered: number | undefined
  /** Ports that are not chosen by ourselves; the user may still request one of them. */
  readonly avoided?: ReadonlySet<number>
  readonly onPortTaken: 'fail' | 'random'
  readonly onConnection: (socket: Socket) => void
  /** Our own tunnel on a port, if one holds it. */
  readonly ownTunnelOn: (port: number) => { sessionName: string; app: string } | undefined
}

/**
 * Opens a listener on the wanted port, else on the remembered one, else on a free one that is not avoided.
 *
 * @throws AppError `port_in_use` with `port`, `holder` (the program that holds it, if known) and `offered` (a port that was
 * free just now), `port_not_allowed`; both only for a wanted port with `fail`
 */
export async function openListener(request: ListenerRequest): Promise<LoopbackListener> {
  const { wanted, remembered, onConnection } = request
  const first = wanted ?? remembered
  if (first === undefined) return await listenElsewhere(request)
  try {
    return await listenOnLoopback({ port: first, onConnection })
  } catch (error) {
    const next = nextAfter(error, request)
    if (next === 'elsewhere') return await listenElsewhere(request)
    throw next === 'explain' ? await explain(first, request, error) : error
  }
}

/** Next step after an error at the first port. Unless the user insists on this port, another one is as good. */
export function nextAfter(
  error: unknown,
  { wanted, onPortTaken }: Pick<ListenerRequest, 'wanted' | 'onPortTaken'>,
): 'elsewhere' | 'explain' | 'fail' {
  if (!isAppError(error)) return 'fail'
  const isTaken = error.code === 'port_in_use'
  if (!isTaken && error.code !== 'port_not_allowed') return 'fail'
  if (wanted === undefined || onPortTaken === 'random') return 'elsewhere'
  return isTaken ? 'explain' : 'fail'
}

/**
 * Listens at a free port that is not avoided. Avoided ports that the system offers are held meanwhile, so that it offers another one each
 * time.
 */
async function listenElsewhere({ avoided, onConnection }: ListenerRequest): Promise<LoopbackListener> {
  const offered: LoopbackListener[] = []
  try {
    for (;;) {
      let isOurs = false
      const listener = await listenOnLoopback({
        port: 0,
        // Clients of an avoided port are not for this tunnel.
        onConnection: socket => (isOurs ? onConnection(socket) : socket.destroy()),
      })
      isOurs = avoided?.has(listener.port) !== true
      if (isOurs) return listener
      offered.push(listener)
    }
  } finally {
    await Promise.all(offered.map(listener => listener.close()))
  }
}

async function explain(port: number, request: ListenerRequest, cause: unknown): Promise<AppError> {
  const tunnel = request.ownTunnelOn(port)
  const process = tunnel ? undefined : await findPortHolder(port)
  const offered = await freePort()
  const holder = tunnel
    ? { kind: 'tunnel', sessionName: tunnel.sessionName, app: tunnel.app }
    : process
      ? { kind: process.isBerth ? 'berth' : 'process', name: process.name, pid: process.pid }
      : null
  const why = tunnel
    ? because('port_of_tunnel', { port, offered, app: tunnel.app, session: tunnel.sessionName })
    : whyOfProcess(process, { port, offered })
  return new AppError('port_in_use', { port, holder, offered, ...why }, { cause })
}

function whyOfProcess(process: PortHolder | undefined, ports: { port: number; offered: number }): Because {
  if (!process) return because('port_of_nobody_known', ports)
  const { name, pid, isBerth } = process
  if (isBerth) return because('port_of_berth', ports)
  return name === ''
    ? because('port_of_unknown_program', { ...ports, pid })
    : because('port_of_program', { ...ports, pid, program: name })
}

/** A port that is free at this moment on both addresses; an offer, not a promise. */
async function freePort(): Promise<number> {
  const probe = await listenOnLoopback({ port: 0, onConnection: socket => socket.destroy() })
  await probe.close()
  return probe.port
}
