import { type Duplex } from 'node:stream'

const listeners = new WeakMap<Duplex, () => void>()

/** Calls `listener` when the answer 101 has turned a connection into a tunnel; never where the upgrade is refused. */
export function whenSwitched(socket: Duplex, listener: () => void): void {
  listeners.set(socket, listener)
}

/** The connection is a tunnel from now on. */
export function switched(socket: Duplex): void {
  listeners.get(socket)?.()
  listeners.delete(socket)
}
