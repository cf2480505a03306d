import {
  type AgentId,
  because,
  type Finding,
  type KernelId,
  type ResourceSlots,
  SLOT_NAMES,
  toldBy,
} from '#manager/contract'
import { KernelLabel, type KernelReport } from '#agent/contract'
import { type Action } from '../agents/reconcile.ts'
import { type HeldDevice } from '../store/tables/scheduling.ts'
import { type ContainerAmounts, type HoldingKernel } from '../store/quotas/usage.ts'

export interface Comparison {
  readonly agentId: AgentId
  readonly agentName: string
  /** Rows that held resources on the agent before it was asked. */
  readonly before: readonly HoldingKernel[]
  /** Kernels that the agent reported. */
  readonly reported: readonly KernelReport[]
  /** Actions taken on the report. */
  readonly actions: readonly Action[]
  /** Rows that still hold resources on the agent after these actions. */
  readonly after: ReadonlySet<KernelId>
}

/**
 * Differences between rows and containers, as messages. Pure. A kernel that is being started or stopped is no difference: its own deadlines
 * handle it.
 */
export function findDifferences({ agentId, agentName, before, reported, actions, after }: Comparison): Finding[] {
  const states = new Map(reported.map(report => [report.kernelId, report.state.state]))
  const known = new Set(before.map(({ kernelId }) => kernelId))
  const ended = before
    .filter(({ kernelId, status }) => status === 'RUNNING' && !after.has(kernelId))
    .flatMap(({ kernelId, sessionId, sessionName }): Finding[] => {
      const state = states.get(kernelId) ?? 'gone'
      const ids = { agentId, sessionId, kernelId }
      const names = { session: sessionName, agent: agentName }
      if (state === 'gone')
        return [{ kind: 'container_gone', ...toldBy(because('recorded_container_gone', names)), ...ids }]
      if (state !== 'exited') return []
      return [{ kind: 'not_told', ...toldBy(because('recorded_container_ended', names)), ...ids }]
    })
  const containers = reported.flatMap(({ kernelId, sessionId, state }): Finding[] => {
    if (state.state !== 'running' || known.has(kernelId)) return []
    const isRemoved = actions.some(one => one.do === 'destroy' && one.kernelId === kernelId)
    const imported = actions.find(one => one.do === 'import' && one.label.kernelId === kernelId)
    const ids = { agentId, sessionId, kernelId }
    if (imported?.do === 'import' && after.has(kernelId)) {
      const names = { session: imported.label.sessionName, agent: agentName }
      return [{ kind: 'unknown_container', ...toldBy(because('container_imported', names)), ...ids }]
    }
    if (!isRemoved && !imported) return []
    return [{ kind: 'orphan_container', ...toldBy(because('container_orphaned', { agent: agentName })), ...ids }]
  })
  return [...ended, ...containers]
}

/** Finds running containers whose amounts or devices differ from their rows. */
export function findOtherAmounts(
  agentId: AgentId,
  before: readonly HoldingKernel[],
  reported: readonly KernelReport[],
  isOurs: (label: KernelLabel) => boolean,
): (ContainerAmounts & { readonly sessionName: string })[] {
  const rows = new Map(before.map(row => [row.kernelId, row]))
  return reported.flatMap(({ kernelId, sessionId, attempt, state, label }) => {
    const row = rows.get(kernelId)
    const parsed = KernelLabel.safeParse(label)
    if (!parsed.success || row?.status !== 'RUNNING' || row.attempt !== attempt || state.state !== 'running') return []
    // Only trust amounts in a label that a manager has signed: any other label is only the agent's claim.
    if (!isOurs(parsed.data)) return []
    const slots = parsed.data.slots as ResourceSlots
    const devices = parsed.data.devices.map(toHeld)
    if (sameSlots(slots, row.slots) && sameDevices(devices, row.devices)) return []
    return [{ kernelId, sessionId, sessionName: row.sessionName, agentId, attempt, slots, devices }]
  })
}

function toHeld({ uuid, slot, amount }: KernelLabel['devices'][number]): HeldDevice {
  return { uuid, slot: slot === 'cuda.shares' ? 'cuda.shares' : 'cuda.device', amount }
}

function sameSlots(a: ResourceSlots, b: ResourceSlots): boolean {
  return SLOT_NAMES.every(slot => (a[slot] ?? 0) === (b[slot] ?? 0))
}

function sameDevices(a: readonly HeldDevice[], b: readonly HeldDevice[]): boolean {
  const text = (devices: readonly HeldDevice[]) =>
    devices
      .map(({ uuid, slot, amount }) => `${uuid} ${slot} ${amount}`)
      .toSorted()
      .join()
  return text(a) === text(b)
}
