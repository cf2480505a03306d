import { type AgentId, isFinished, type KernelId, type ManagerId, type ResourceSlots } from '#manager/contract'
import { KernelLabel, type KernelReport } from '#agent/contract'
import { type KnownKernel } from '../store/kernels.ts'

/** A container that holds what no kernel of record holds: it has been ended, or placed elsewhere, while its agent was away. */
export interface Stray {
  readonly kernelId: KernelId
  /** Base units. */
  readonly slots: ResourceSlots
  readonly devices: readonly { readonly uuid: string; readonly slot: string; readonly amount: number }[]
}

/**
 * Those of a report whose memory and GPUs the database takes for free. Nothing may be placed there until they are. Pure.
 *
 * @param known kernels of record after the report was acted on: what could be imported has become one
 */
export function straysOf(
  reported: readonly KernelReport[],
  { agentId, managerId, known }: { agentId: AgentId; managerId: ManagerId; known: readonly KnownKernel[] },
): Stray[] {
  const holders = new Set(
    known.filter(kernel => kernel.agentId === agentId && !isFinished(kernel.status)).map(({ kernelId }) => kernelId),
  )
  return reported.flatMap(({ kernelId, state, label }) => {
    if (holders.has(kernelId) || (state.state !== 'running' && state.state !== 'starting')) return []
    const { data } = KernelLabel.safeParse(label)
    return data?.managerId === managerId ? [{ kernelId, slots: data.slots, devices: data.devices }] : []
  })
}
