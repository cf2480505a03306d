import { type AgentId, isFinished, type KernelId, type ManagerId, type ResourceSlots } from '#manager/contract'
import { KernelLabel, type KernelReport } from '#agent/contract'
import { type KnownKernel } from '../store/sessions/kernels.ts'

/** A container whose kernel holds no slots in the database any more: it was ended, or placed elsewhere, while its agent was away. */
export interface Orphan {
  readonly kernelId: KernelId
  /** Base units. */
  readonly slots: ResourceSlots
  readonly devices: readonly { readonly uuid: string; readonly slot: string; readonly amount: number }[]
}

export interface OrphansInput {
  readonly agentId: AgentId
  readonly managerId: ManagerId
  /** Kernels in the database after the report was processed, including imported containers. */
  readonly known: readonly KnownKernel[]
}

/** Containers of a report whose slots the database counts as free. No session may use the slots while the container exists. Pure. */
export function orphansOf(reported: readonly KernelReport[], { agentId, managerId, known }: OrphansInput): Orphan[] {
  const holders = new Set(
    known.filter(kernel => kernel.agentId === agentId && !isFinished(kernel.status)).map(({ kernelId }) => kernelId),
  )
  return reported.flatMap(({ kernelId, state, label }) => {
    if (holders.has(kernelId) || (state.state !== 'running' && state.state !== 'starting')) return []
    const { data } = KernelLabel.safeParse(label)
    return data?.managerId === managerId ? [{ kernelId, slots: data.slots, devices: data.devices }] : []
  })
}

/** A container with this Berth's label that the manager neither knows nor has requested, as far as it can tell. */
export interface UnknownContainer {
  readonly label: KernelLabel
  readonly startedAt: string
}

/**
 * Containers of a report that still run without a database row after the report was processed: they were not signed by a manager of this
 * Berth, or hold more than their agent has. An admin decides. Pure.
 */
export function unknownOf(reported: readonly KernelReport[], { managerId, known }: OrphansInput): UnknownContainer[] {
  const recorded = new Set(known.map(({ kernelId }) => kernelId))
  return reported.flatMap(({ kernelId, state, label }) => {
    if (recorded.has(kernelId) || state.state !== 'running') return []
    const { data } = KernelLabel.safeParse(label)
    const isNamed = data?.managerId === managerId && data.kernelId === kernelId
    return isNamed ? [{ label: data, startedAt: state.startedAt }] : []
  })
}
