import { type AgentId, isFinished, type KernelId, type ManagerId, type ResourceSlots } from '#manager/contract'
import { KernelLabel, type KernelReport } from '#agent/contract'
import { type KnownKernel } from '../store/sessions/kernels.ts'

/** A container that holds what no kernel of record holds: it has been ended, or placed elsewhere, while its agent was away. */
export interface Stray {
  readonly kernelId: KernelId
  /** Base units. */
  readonly slots: ResourceSlots
  readonly devices: readonly { readonly uuid: string; readonly slot: string; readonly amount: number }[]
}

export interface StraysInput {
  readonly agentId: AgentId
  readonly managerId: ManagerId
  /** Kernels of record after the report was acted on: what could be imported has become one. */
  readonly known: readonly KnownKernel[]
}

/** Those of a report whose memory and GPUs the database takes for free. Nothing may be placed there until they are. Pure. */
export function straysOf(reported: readonly KernelReport[], { agentId, managerId, known }: StraysInput): Stray[] {
  const holders = new Set(
    known.filter(kernel => kernel.agentId === agentId && !isFinished(kernel.status)).map(({ kernelId }) => kernelId),
  )
  return reported.flatMap(({ kernelId, state, label }) => {
    if (holders.has(kernelId) || (state.state !== 'running' && state.state !== 'starting')) return []
    const { data } = KernelLabel.safeParse(label)
    return data?.managerId === managerId ? [{ kernelId, slots: data.slots, devices: data.devices }] : []
  })
}

/** A container that names this Berth, and that the manager neither knows nor has asked for, as far as it can tell. */
export interface UnknownContainer {
  readonly label: KernelLabel
  readonly startedAt: string
}

/**
 * Those of a report that run without a record although the report was acted on: they were not signed by a manager of this
 * Berth, or hold more than their agent has. An admin decides. Pure.
 */
export function unknownOf(reported: readonly KernelReport[], { managerId, known }: StraysInput): UnknownContainer[] {
  const recorded = new Set(known.map(({ kernelId }) => kernelId))
  return reported.flatMap(({ kernelId, state, label }) => {
    if (recorded.has(kernelId) || state.state !== 'running') return []
    const { data } = KernelLabel.safeParse(label)
    const isNamed = data?.managerId === managerId && data.kernelId === kernelId
    return isNamed ? [{ label: data, startedAt: state.startedAt }] : []
  })
}
