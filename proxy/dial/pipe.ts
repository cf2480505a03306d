import { type Socket } from 'node:net'
import { PING_INTERVAL_MS } from '#manager/contract'
import { TunnelEnd, type TunnelOutcome } from '#manager/tunnel-end'
import { liveEnds } from './live-ends.ts'
import { applyMask, maskingFor } from './masks.ts'

/**
 * Joins a client's connection and a dialled tunnel until both are closed; the sockets themselves count the bytes. Destroying
 * `client` ends the tunnel. Resolves when the client's connection is closed: the client may ask for the reason of a refusal
 * before the wire has closed too. Never rejects: the outcome tells how the tunnel ended, and the client has been told in its
 * own protocol (an orderly end, or a reset).
 *
 * Threat model: `client` is any program of this computer that reached our listener, and is trusted only with the service it
 * asked for. Needs `allowHalfOpen` on both sockets; otherwise a half-close of the client would end its answer.
 */
export function pipeTunnel(client: Socket, wire: Socket): Promise<TunnelOutcome> {
  return new Promise(resolve => {
    client.setNoDelay(true)
    client.setKeepAlive(true, PING_INTERVAL_MS)
    const end = new TunnelEnd({
      wire,
      local: client,
      role: 'client',
      newMask: maskingFor(wire),
      applyMask,
      onEnd: () => liveEnds.delete(end),
    })
    liveEnds.add(end)
    client.once('close', () => resolve(end.outcome))
  })
}
