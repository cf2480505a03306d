import { type AgentId, type Reason, SessionId } from '#manager/contract'
import { KernelLabel, type KernelReport } from '#agent/contract'
import { adoptRunning, type FoundRunning } from '../store/sessions/adopt.ts'
import { type Store } from '../store/open-store.ts'
import { type Touched } from '../store/sessions/touches.ts'

interface Found {
  readonly label: KernelLabel
  readonly containerId: string
  /** Start of the container by the database's clock. */
  readonly startedAt: string
}

export interface AdoptingAgent {
  readonly agentId: AgentId
  /**
   * Whether a manager of this Berth requested the container. Any other container could take over a waiting session of
   * any user.
   */
  readonly isOurs: (label: KernelLabel) => boolean
}

/**
 * Adopts sessions that are waiting according to the restored database but were started after the backup: marks them as running. Used after
 * a restore, until an admin resumes scheduling. A session is adopted only if all its containers are on this agent's engine.
 */
export async function adoptWaiting(
  store: Store,
  { agentId, isOurs }: AdoptingAgent,
  reported: readonly KernelReport[],
): Promise<Touched[]> {
  const running = reported.flatMap(({ kernelId, state, label }): Found[] => {
    const parsed = KernelLabel.safeParse(label)
    const ours = parsed.success && parsed.data.kernelId === kernelId && isOurs(parsed.data)
    return ours && state.state === 'running' ? [{ ...state, label: parsed.data }] : []
  })
  const adopted: Touched[] = []
  for (const [sessionId, found] of Map.groupBy(running, ({ label }) => label.sessionId)) {
    const message = 'Started after the backup was made, and found running on its host.'
    const reason: Reason = { code: 'imported', message }
    const what = toFound(SessionId.parse(sessionId), found, agentId)
    const touched = await store.transaction(trx => adoptRunning(trx, what, reason))
    if (touched) adopted.push(touched)
  }
  return adopted
}

function toFound(sessionId: SessionId, found: readonly Found[], agentId: AgentId): FoundRunning {
  return {
    sessionId,
    agentId,
    attempt: Math.max(...found.map(({ label }) => label.attempt)),
    startedAt: found.map(({ startedAt }) => startedAt).reduce((a, b) => (a < b ? a : b)),
    kernels: found.map(({ label, containerId }) => ({ id: label.kernelId, containerId })),
    devices: found.flatMap(({ label }) =>
      label.devices.map(({ uuid, slot, amount }) => ({
        kernel_id: label.kernelId,
        agent_id: agentId,
        uuid,
        slot: slot === 'cuda.shares' ? ('cuda.shares' as const) : ('cuda.device' as const),
        amount,
      })),
    ),
  }
}
