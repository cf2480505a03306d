import {
  type Because,
  type FolderMount,
  formatAmount,
  formatSlots,
  type Reason,
  SESSION_HOME,
  SESSION_NAME,
  type Session,
  type SessionDetails,
  type SessionId,
  toldBy,
} from '#manager/contract'
import { accessOf } from './network-access.ts'
import { type LiveStats } from '../stats/live.ts'
import { sumStats } from '../stats/sum-stats.ts'
import { type AgentPresence, type MountsPresence } from '../scheduler/snapshot.ts'
import { listAgentNames } from '../store/agents/agents.ts'
import { type KernelRow, listKernelDevices, listKernels } from '../store/sessions/kernels.ts'
import { type Db } from '../store/schema.ts'
import { findVariables, type OwnedSessionRow, ownedOf } from '../store/sessions/sessions.ts'
import { listPastKernels } from '../store/sessions/past-runs.ts'
import { readLastMinutes } from '../store/sessions/session-stats.ts'
import { listSessionFolders, type SessionFolderRow } from '../store/sessions/session-folders.ts'
import { usageOf } from '../stats/usage.ts'
import { whyFixed } from './added-folders.ts'
import { appsOf } from '../images/apps.ts'
import { endOf, toSessionEnd } from './lifetime/ends.ts'
import { STARTED } from './lifecycle/outcomes.ts'
import { lifetimeOf } from './lifetime/lifetime-of.ts'
import {
  type Caller,
  canEnter,
  canManage,
  canReadOutput,
  isOfToken,
  otherLauncher,
  sharedAs,
} from '../users/authorize.ts'
import { resultOf } from '../scheduler/result.ts'

export interface ViewDeps {
  readonly live: LiveStats
  readonly presence: AgentPresence & MountsPresence
  readonly positionOf: (id: SessionId) => number | null
  /** The caller for whom the sessions are converted. */
  readonly caller: Pick<Caller, 'userId' | 'email' | 'role' | 'domain' | 'scopes' | 'loginId'>
}

/** Converts rows to sessions in the form for clients: kernels and devices from the database, statistics and queue positions from memory. */
export async function toSessions(db: Db, rows: readonly OwnedSessionRow[], deps: ViewDeps): Promise<Session[]> {
  const [kernels, minutes, folders, past] = await Promise.all([
    listKernels(
      db,
      rows.map(row => row.id),
    ),
    readLastMinutes(
      db,
      rows.filter(row => row.started_at !== null).map(row => row.id),
    ),
    listSessionFolders(
      db,
      rows.map(row => row.id),
    ),
    listPastKernels(
      db,
      rows.filter(row => row.interruptions > 0).map(row => row.id),
    ),
  ])
  const pastOf = Map.groupBy(past, kernel => kernel.sessionId)
  const [devices, names] = await Promise.all([
    listKernelDevices(
      db,
      kernels.map(kernel => kernel.id),
    ),
    listAgentNames(
      db,
      kernels.flatMap(kernel => kernel.agent_id ?? []),
    ),
  ])
  const devicesOf = Map.groupBy(devices, device => device.kernel_id)
  const kernelsOf = Map.groupBy(kernels, kernel => kernel.session_id)
  return rows.map(row => {
    const own = kernelsOf.get(row.id) ?? []
    const main = own[0]
    const owned = ownedOf(row)
    const isManaged = canManage(deps.caller, owned)
    const outputReadable = canReadOutput(deps.caller, owned)
    const running = row.status === 'RUNNING' && main !== undefined
    const isReady = ({ agent_id: on, status }: KernelRow) =>
      status !== 'RUNNING' || (on !== null && deps.presence.isReady(on))
    const reachable = !running || (main.agent_id !== null && deps.presence.isReady(main.agent_id) && own.every(isReady))
    // The idle clock stands still while the agent is disconnected and no manager can observe the session.
    const end = running ? endOf({ ...lifetimeOf(row), ...(reachable ? {} : { idleSince: null }) }) : null
    return {
      id: row.id,
      name: shownName(row),
      status: row.status,
      reason: reasonOfNow(row),
      queuePosition: row.status === 'PENDING' ? deps.positionOf(row.id) : null,
      reachable,
      ownerId: row.owner_id,
      ownerEmail: row.owner_email,
      launchedBy: otherLauncher(deps.caller, row),
      sharedAs: isManaged ? null : sharedAs(deps.caller, owned),
      sharedWith: isManaged ? Object.keys(row.shares ?? {}).length : null,
      adminsMayRead: row.admins_may_read,
      outputReadable,
      tags: row.tags,
      note: row.note,
      domain: row.domain,
      group: row.group_id === null ? null : { id: row.group_id, name: row.group_name ?? '' },
      resourceGroup: row.resource_group,
      image: row.image,
      imageDigest: row.image_digest,
      requested: formatSlots(row.requested),
      gpu: row.gpu,
      clusterSize: row.cluster_size,
      clusterMode: row.cluster_mode,
      network: accessOf(row.allowed_names),
      priority: row.priority,
      dependsOn: row.depends_on,
      startsAt: row.starts_at?.toISOString() ?? null,
      interruptible: row.interruptible,
      interruptAt: (running && row.interrupt_at?.toISOString()) || null,
      interruptions: row.interruptions,
      folders: (folders.get(row.id) ?? []).map(toMount),
      foldersFixed: running ? toText(whyFixed(own.map(kernel => mountsOf(kernel, deps)))) : null,
      shmem: String(row.shmem_bytes),
      environNames: row.environ_names,
      startupCommand: outputReadable ? row.startup_command : null,
      runImageCommand: row.run_image_command,
      kind: row.kind,
      result: row.kind === 'batch' ? resultOf({ ...row, exitCode: main?.exit_code ?? null }) : null,
      idleTimeoutSeconds: row.idle_timeout_seconds,
      maxLifetimeSeconds: row.max_lifetime_seconds,
      expiresAt: row.expires_at?.toISOString() ?? null,
      slurm: row.slurm,
      slurmEndsAt: (running && row.slurm_ends_at?.toISOString()) || null,
      ends: end && toSessionEnd(end, row.now.getTime()),
      usage: usageOf({
        live: running ? own.map(kernel => deps.live.stats(kernel.id)) : [],
        stored: minutes.get(row.id),
        held: [
          ...own.map(kernel => ({ gpus: gpusOf(devicesOf.get(kernel.id)), ms: ranMs(row, kernel) })),
          ...(pastOf.get(row.id) ?? []).map(kernel => ({ gpus: gpusOf(kernel.devices), ms: kernel.ranMs })),
        ],
        earlierCpuSeconds: (pastOf.get(row.id) ?? []).reduce((sum, { cpuSeconds }) => sum + (cpuSeconds ?? 0), 0),
      }),
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
      stats: running ? sumStats(own.flatMap(kernel => deps.live.stats(kernel.id) ?? [])) : null,
      pull: row.status === 'PULLING' ? pullOf(own, deps) : null,
      createdAt: row.created_at.toISOString(),
      startedAt: row.started_at?.toISOString() ?? null,
      endedAt: row.ended_at?.toISOString() ?? null,
      version: row.version,
    }
  })
}

/**
 * The session with the values of its variables. They often contain secrets: admins, and members who may only view the session, see only the
 * names.
 */
export async function withVariables(
  db: Db,
  session: Session,
  { row, caller }: { row: OwnedSessionRow; caller: ViewDeps['caller'] },
): Promise<SessionDetails> {
  const owned = ownedOf(row)
  const mayKnow = canEnter(caller, owned) && isOfToken(caller, owned)
  return { ...session, environ: mayKnow ? await findVariables(db, row.id) : {} }
}

function toMount({ folder_id, name, path, read_only, added, pending }: SessionFolderRow): FolderMount {
  return {
    folderId: folder_id,
    name,
    path: `${SESSION_HOME}/${path}`,
    readOnly: read_only,
    ...(added ? { added } : {}),
    ...(pending === null ? {} : { pending }),
  }
}

const mountsOf = ({ id, agent_id }: KernelRow, { presence }: ViewDeps) =>
  agent_id === null ? undefined : presence.mounts(agent_id, id)

const toText = (why: Because | undefined) => (why ? toldBy(why) : null)

/** Pull progress of the session. Its kernels pull the same image on the same engine, so the first one with progress is enough. */
function pullOf(kernels: readonly KernelRow[], { live }: ViewDeps) {
  for (const { id } of kernels) {
    const pull = live.pull(id)
    if (pull) return pull
  }
  return null
}

/**
 * Running time of a kernel, from the start of the session to the end of the kernel. A secondary kernel may end long
 * before its session.
 */
function ranMs({ started_at, ended_at, now }: OwnedSessionRow, kernel: KernelRow): number {
  if (started_at === null) return 0
  return Math.max(0, (kernel.ended_at ?? ended_at ?? now).getTime() - started_at.getTime())
}

/** The reason to show now: the reason of an event in a running session is shown only for a while. */
function reasonOfNow({ status, reason, now }: OwnedSessionRow): Reason {
  const isOver = status === 'RUNNING' && reason.until !== undefined && Date.parse(reason.until) <= now.getTime()
  return isOver ? STARTED : reason
}

const gpusOf = (devices: readonly { slot: string; amount: number }[] = []) =>
  devices.reduce((sum, device) => sum + gpusIn(device), 0)

/** A share is a hundredth of a GPU. */
function gpusIn({ slot, amount }: { slot: string; amount: number }): number {
  return slot === 'cuda.shares' ? amount / 100 : amount
}

/**
 * Replaces an invalid name, which an older version may have taken from a container, so that it neither hides the
 * session nor breaks the list.
 */
function shownName({ id, name }: Pick<OwnedSessionRow, 'id' | 'name'>): string {
  return SESSION_NAME.test(name) ? name : `session-${id.slice(-12)}`
}
