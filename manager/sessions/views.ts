import { formatAmount, formatSlots, type Session, type SessionId } from '#manager/contract'
import { type LiveFigures } from '../agents/live.ts'
import { type AgentPresence } from '../scheduler/snapshot.ts'
import { listAgentNames } from '../store/agents.ts'
import { listKernelDevices, listKernels } from '../store/kernels.ts'
import { type Db } from '../store/schema.ts'
import { type OwnedSessionRow } from '../store/sessions.ts'
import { appsOf } from './apps.ts'

export interface ViewDeps {
  readonly live: LiveFigures
  readonly presence: AgentPresence
  readonly positionOf: (id: SessionId) => number | null
}

/** Rows as clients see them: with kernels and devices from the database, figures and queue positions from memory. */
export async function toSessions(db: Db, rows: readonly OwnedSessionRow[], deps: ViewDeps): Promise<Session[]> {
  const kernels = await listKernels(
    db,
    rows.map(row => row.id),
  )
  const devices = await listKernelDevices(
    db,
    kernels.map(kernel => kernel.id),
  )
  const names = await listAgentNames(
    db,
    kernels.flatMap(kernel => kernel.agent_id ?? []),
  )
  const devicesOf = Map.groupBy(devices, device => device.kernel_id)
  const kernelsOf = Map.groupBy(kernels, kernel => kernel.session_id)
  return rows.map(row => {
    const own = kernelsOf.get(row.id) ?? []
    const main = own[0]
    const running = row.status === 'RUNNING' && main !== undefined
    return {
      id: row.id,
      name: row.name,
      status: row.status,
      reason: row.reason,
      queuePosition: row.status === 'PENDING' ? deps.positionOf(row.id) : null,
      reachable: !running || (main.agent_id !== null && deps.presence.isReady(main.agent_id)),
      ownerId: row.owner_id,
      ownerEmail: row.owner_email,
      resourceGroup: row.resource_group,
      image: row.image,
      imageDigest: row.image_digest,
      requested: formatSlots(row.requested),
      shmem: String(row.shmem_bytes),
      environ: row.environ,
      startupCommand: row.startup_command,
      apps: appsOf(row),
      kernels: own.map(kernel => ({
        id: kernel.id,
        role: kernel.role,
        status: kernel.status,
        agentId: kernel.agent_id,
        agentName: kernel.agent_id && (names.get(kernel.agent_id) ?? null),
        containerId: kernel.container_id,
        exitCode: kernel.exit_code,
        devices: (devicesOf.get(kernel.id) ?? []).map(({ uuid, slot, amount }) => ({
          uuid,
          slot,
          amount: formatAmount(slot, amount),
        })),
      })),
      stats: running ? deps.live.stats(main.id) : null,
      pull: row.status === 'PULLING' && main ? deps.live.pull(main.id) : null,
      createdAt: row.created_at.toISOString(),
      startedAt: row.started_at?.toISOString() ?? null,
      endedAt: row.ended_at?.toISOString() ?? null,
      version: row.version,
    }
  })
}
