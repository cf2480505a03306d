import { type Socket } from 'node:net'
import { PING_INTERVAL_MS } from '#manager/contract'
import { TunnelEnd, type TunnelOutcome } from '#manager/tunnel-end'
import { type DirectLine } from './dial-line.ts'
import { type KeptWires } from './kept-wires.ts'
import { liveEnds } from './live-ends.ts'
import { applyMask, maskingFor } from './masks.ts'

/**
 * Joins a client's connection and a dialled tunnel until both are closed; the sockets themselves count the bytes. Destroying `client` ends
 * the tunnel. Resolves when the client's connection is closed: the client may ask for the reason of a refusal before the wire has closed
 * too. Never rejects: the outcome says how the tunnel ended, and the client sees it in its own protocol (an orderly end, or a reset).
 *
 * Threat model: `client` is any program of this computer that reached our listener, and is trusted only with the service it asked for.
 * Needs `allowHalfOpen` on both sockets; otherwise a half-close of the client would end its answer.
 *
 * @param kept takes over the wire after an orderly end; the wire must have been dialled as `lasting`
 */
export function pipeTunnel(client: Socket, wire: Socket, kept?: KeptWires): Promise<TunnelOutcome> {
  return new Promise(resolve => {
    client.setNoDelay(true)
    client.setKeepAlive(true, PING_INTERVAL_MS)
    const end: TunnelEnd = new TunnelEnd({
      wire,
      local: client,
      role: 'client',
      newMask: maskingFor(wire),
      applyMask,
      ...(kept ? { lasting: { onRest: () => kept.keep(end) } } : {}),
      onEnd: () => {
        liveEnds.delete(end)
        kept?.forget(end)
      },
    })
    liveEnds.add(end)
    const outcome = end.outcomeOfThis
    client.once('close', () => resolve(outcome()))
  })
}

/** Like `pipeTunnel`, for a direct connection, whose bytes do not go through the wire. */
export function pipeDirect(
  client: Socket,
  { directWire, service }: DirectLine,
  kept?: KeptWires,
): Promise<TunnelOutcome> {
  return new Promise(resolve => {
    client.setNoDelay(true)
    client.setKeepAlive(true, PING_INTERVAL_MS)
    directWire.carry(client, service, kept)
    const outcome = directWire.outcomeOfThis
    client.once('close', () => resolve(outcome()))
  })
}
