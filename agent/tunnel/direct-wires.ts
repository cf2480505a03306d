import { createHmac } from 'node:crypto'
import { type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type DirectClaim, directOffer, directPayload, type DirectAddress } from '#manager/contract'
import { HoldingSocket, type TunnelBeats, TunnelEnd } from '#manager/tunnel-end'
import { type KernelAddress } from './service.ts'

export interface DirectRequest {
  readonly nonce: string
  readonly app: string
  readonly kernel: KernelAddress
  /** Undefined if only the agent can reach the app. */
  readonly address: DirectAddress | undefined
}

/** The agent's side of the direct path (ADR 41): wires that hold connections of the proxy to containers. */
export interface DirectWires {
  /** Offers the direct path and takes over the wire. @returns false if it cannot be offered: the wire was not touched */
  hold(wire: Socket, request: DirectRequest): boolean
  /**
   * Ends the wires of a kernel. The proxy resets its connection before it answers the close frame. Resolves when all wires have ended,
   * after RELEASE_MS at the latest. Never rejects.
   *
   * @param containerId container for which no more offers are made
   */
  release(kernelId: string, containerId: string | undefined): Promise<void>
}

interface Held {
  readonly end: TunnelEnd
  readonly wire: Socket
  readonly ended: Promise<void>
}

/** Time for the proxy to answer a close frame; a wire that is still open then is cut. */
const RELEASE_MS = 5_000
const MAX_REMEMBERED = 1000

/**
 * Threat model: an offer reveals the address of a container to a client that the manager has admitted to its app, and that can learn the
 * address inside the container too. The MAC makes the offer usable: the proxy connects only to an address that a holder of the key has
 * named for this session, app and request. The key never leaves this process.
 *
 * The manager can cut the wire like any tunnel, and the proxy ends its connection with the wire. An address may belong to another container
 * later, so no wire may outlive the container that it names: `release` comes before the network is removed.
 */
export function createDirectWires({ key, live }: { key: string | undefined; live: TunnelBeats }): DirectWires {
  const wires = new Map<string, Set<Held>>()
  const released = new Set<string>()

  return {
    hold(wire, { nonce, app, kernel, address }) {
      if (key === undefined || !address || released.has(kernel.containerId)) return false
      const { kernelId, sessionId } = kernel
      const ended = Promise.withResolvers<undefined>()
      const greeting = directOffer(address, macOf(key, { nonce, sessionId, app, ...address }))
      const ofKernel = wires.get(kernelId) ?? new Set()
      wires.set(kernelId, ofKernel)
      const onEnd = () => {
        live.delete(end)
        ofKernel.delete(hold)
        if (ofKernel.size === 0 && wires.get(kernelId) === ofKernel) wires.delete(kernelId)
        ended.resolve(undefined)
      }
      // The client's connection ends by itself; this side has none.
      const local = new HoldingSocket(() => undefined)
      const end: TunnelEnd = new TunnelEnd({ wire, local, role: 'server', greeting, onEnd })
      const hold: Held = { end, wire, ended: ended.promise }
      live.add(end)
      ofKernel.add(hold)
      return true
    },
    async release(kernelId, containerId) {
      if (containerId !== undefined) {
        if (released.size >= MAX_REMEMBERED) released.clear()
        released.add(containerId)
      }
      const ofKernel = [...(wires.get(kernelId) ?? [])]
      if (ofKernel.length === 0) return
      for (const { end } of ofKernel) end.close('session_ended')
      await Promise.race([Promise.all(ofKernel.map(({ ended }) => ended)), delay(RELEASE_MS)])
      for (const { wire } of ofKernel) wire.destroy()
    },
  }
}

function macOf(key: string, claim: DirectClaim): string {
  return createHmac('sha256', key).update(directPayload(claim)).digest('base64url')
}
