import { type Socket } from 'node:net'
import { PING_INTERVAL_MS, TunnelEnd, type TunnelOutcome } from '#manager/contract'
import { liveEnds } from './live-ends.ts'
import { applyMask, maskingFor } from './masks.ts'

/**
 * Joins a client's connection and a dialled tunnel until both are closed; bytes are counted by the sockets themselves.
 * Destroying `client` ends the tunnel. Never rejects: how it ended is the outcome, and the client has been told in its
 * own language (an orderly end, or a reset).
 *
 * Threat model: `client` is any program of this computer that reached our listener, and is trusted with nothing but the
 * service it asked for. Needs `allowHalfOpen` on both sockets, or a half-close of the client would end its answer.
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
      onEnd: outcome => {
        liveEnds.delete(end)
        resolve(outcome)
      },
    })
    liveEnds.add(end)
  })
}
