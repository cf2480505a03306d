import { type IncomingMessage } from 'node:http'
import { type Duplex } from 'node:stream'

/** Longest time for which a call of the adapter counts as signed. Tunnels and streams end with their keypair, whatever this says. */
export const ADOPTED_MS = 15 * 60_000

/** Facts that a part of this process vouches for, about the requests of one connection. */
export interface Adopted {
  /** The road by which the client came, for the audit log. */
  readonly road: 'backend.ai'
  /** Access key whose signature was verified, and the end of that; left out: the request carries credentials of its own. */
  readonly signed?: { readonly accessKey: string; readonly expiresAt: Date }
}

const adopted = new WeakMap<Duplex, Adopted>()

/**
 * Vouches for everything that comes by this connection.
 *
 * Threat model: no field of a request says it, so nothing that arrives from outside can. Call it only with a connection inside this
 * process, or with one that becomes a tunnel: further requests of the same connection would count as vouched for, too.
 */
export function adopt(connection: Duplex, facts: Adopted): void {
  adopted.set(connection, facts)
}

export function adoptedBy({ socket }: IncomingMessage): Adopted | undefined {
  return adopted.get(socket)
}
