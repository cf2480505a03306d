import { type Socket } from 'node:net'
import { AppError, isAppError } from '#manager/contract'
import { listenOnLoopback, type LoopbackListener } from './loopback-listener.ts'
import { findPortHolder, type PortHolder } from './port-holder.ts'

export interface ListenerRequest {
  /** Port requested by the user: if taken, an error, or a random port if the user chose that. */
  readonly wanted: number | undefined
  /** Port used last time: if taken, silently replaced by another one. */
  readonly remembered: number | undefined
  readonly onPortTaken: 'fail' | 'random'
  readonly onConnection: (socket: Socket) => void
  /** Our own tunnel on a port, if one holds it. */
  readonly ownTunnelOn: (port: number) => { sessionName: string; app: string } | undefined
}

/**
 * Opens a listener on the wanted port, else on the remembered one, else on a free one.
 *
 * @throws AppError `port_in_use` with `port`, `holder` (the program that holds it, if known) and `offered` (a port that was
 * free just now)
 */
export async function openListener(request: ListenerRequest): Promise<LoopbackListener> {
  const { wanted, remembered, onConnection } = request
  const first = wanted ?? remembered ?? 0
  try {
    return await listenOnLoopback({ port: first, onConnection })
  } catch (error) {
    if (!isAppError(error) || error.code !== 'port_in_use' || first === 0) throw error
    if (wanted !== undefined && request.onPortTaken === 'fail') throw await explain(wanted, request, error)
    return await listenOnLoopback({ port: 0, onConnection })
  }
}

async function explain(port: number, request: ListenerRequest, cause: unknown): Promise<AppError> {
  const tunnel = request.ownTunnelOn(port)
  const process = tunnel ? undefined : await findPortHolder(port)
  const offered = await freePort()
  const holder = tunnel
    ? { kind: 'tunnel', sessionName: tunnel.sessionName, app: tunnel.app }
    : process
      ? { kind: 'process', name: process.name, pid: process.pid }
      : null
  const why = `Port ${port} is taken by ${nameOf(tunnel, process)}. Choose another port, for example ${offered}, or use a random one.`
  return new AppError('port_in_use', { port, holder, offered, why }, { cause })
}

function nameOf(tunnel: { sessionName: string; app: string } | undefined, process: PortHolder | undefined): string {
  if (tunnel) return `the ${tunnel.app} tunnel of session "${tunnel.sessionName}"`
  return process ? `${process.name || 'a program'} (process ${process.pid})` : 'another program'
}

/** A port that is free at this moment on both addresses; an offer, not a promise. */
async function freePort(): Promise<number> {
  const probe = await listenOnLoopback({ port: 0, onConnection: socket => socket.destroy() })
  await probe.close()
  return probe.port
}
