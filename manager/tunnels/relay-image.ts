import { type Socket } from 'node:net'
import { type DataHeader } from '#agent/contract'
import { type AgentId, AppError } from '#manager/contract'
import { type ParkedSockets } from './parked-sockets.ts'
import { relay } from './relay.ts'

/** An image that one agent gives to another. */
export interface RelayedImage {
  readonly from: AgentId
  readonly to: AgentId
  readonly transferId: string
  readonly id: string
}

export interface RelayImageDeps {
  readonly reach: (agentId: AgentId, signal: AbortSignal) => Promise<void>
  readonly parked: Pick<ParkedSockets, 'take'>
}

/**
 * Joins a data socket of one agent to one of another.
 * @returns bytes that went over, once both are closed
 * @throws AppError `agent_unreachable`; the signal's reason
 */
export async function relayImage(
  { from, to, transferId, id }: RelayedImage,
  { reach, parked }: RelayImageDeps,
  signal: AbortSignal,
): Promise<number> {
  const taken: Socket[] = []
  try {
    for (const agentId of [from, to]) {
      await reach(agentId, signal)
      const socket = await parked.take(agentId, signal)
      taken.push(socket.on('error', () => socket.destroy()))
    }
    const [giver, taker] = taken
    if (!giver || !taker) throw new AppError('agent_unreachable')
    const headers: Record<'giver' | 'taker', DataHeader> = {
      giver: { kind: 'give_image', id },
      taker: { kind: 'take_image', transferId },
    }
    return await relay(giver, taker, { headers, signal })
  } finally {
    for (const socket of taken) socket.destroy()
  }
}
