import { type IncomingMessage } from 'node:http'
import { type DataHeader } from '#agent/contract'
import {
  DIRECT_HEADER,
  DIRECT_NONCE,
  type KernelId,
  LASTING_TUNNEL_PROTOCOL,
  TERMINAL_PROTOCOL,
  TUNNEL_PROTOCOL,
} from '#manager/contract'
import { type Target } from './target.ts'

/** WebSocket protocols for each kind of target, the best one first. */
export const PROTOCOLS: Readonly<Record<Target['kind'], readonly string[]>> = {
  app: [LASTING_TUNNEL_PROTOCOL, TUNNEL_PROTOCOL],
  terminal: [TERMINAL_PROTOCOL],
  command: [TUNNEL_PROTOCOL],
}

/** The header that the agent reads first on a data socket. */
export function headerOf(
  target: Target,
  kernelId: KernelId,
  how: Pick<Extract<DataHeader, { kind: 'app' }>, 'framed' | 'lasting' | 'direct'>,
): DataHeader {
  switch (target.kind) {
    case 'app':
      return { kind: 'app', kernelId, app: target.app, ...how }
    case 'terminal':
      return { kind: 'terminal', kernelId, name: target.name, cols: target.cols, rows: target.rows }
    case 'command':
      return { kind: 'command', kernelId, commandId: target.commandId }
  }
}

/** The nonce of a proxy that requests the direct path from the agent (ADR 41). */
export function directOf({ headers }: IncomingMessage): { direct?: string } {
  const nonce = headers[DIRECT_HEADER]
  return typeof nonce === 'string' && DIRECT_NONCE.test(nonce) ? { direct: nonce } : {}
}
