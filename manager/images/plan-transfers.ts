import { type AgentId } from '#manager/contract'

/** An agent that waits for an image. */
export interface WaitingTransfer {
  readonly digest: string
  readonly to: AgentId
  /** How often each agent has failed to give it. */
  readonly failures: ReadonlyMap<AgentId, number>
}

export interface RunningTransfer {
  readonly digest: string
  readonly from: AgentId
  readonly to: AgentId
}

export interface TransferState<W extends WaitingTransfer> {
  /** In the order in which they were asked for. */
  readonly waiting: readonly W[]
  readonly running: readonly RunningTransfer[]
  /** Agents that hold each image, by digest. */
  readonly holders: ReadonlyMap<string, readonly AgentId[]>
  readonly isConnected: (agentId: AgentId) => boolean
}

/**
 * Says who gives which image to whom now. An agent takes part in one transfer at a time, and an image is in one: the bytes of an image cross
 * this manager once for each agent that lacks it, and never several times at once. Of the agents that hold an image, the one is chosen that has
 * failed least with it. Pure.
 */
export function planTransfers<W extends WaitingTransfer>({
  waiting,
  running,
  holders,
  isConnected,
}: TransferState<W>): { readonly wanted: W; readonly from: AgentId }[] {
  const busy = new Set(running.flatMap(({ from, to }) => [from, to]))
  const images = new Set(running.map(({ digest }) => digest))
  const isFree = (id: AgentId) => isConnected(id) && !busy.has(id)
  return waiting.flatMap(wanted => {
    const { digest, to, failures } = wanted
    if (images.has(digest) || !isFree(to)) return []
    const free = (holders.get(digest) ?? []).filter(id => id !== to && isFree(id))
    const [from] = free.toSorted((a, b) => (failures.get(a) ?? 0) - (failures.get(b) ?? 0))
    if (from === undefined) return []
    images.add(digest)
    busy.add(from).add(to)
    return [{ wanted, from }]
  })
}
