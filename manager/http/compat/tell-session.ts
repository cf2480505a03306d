import { isFinished, type Kernel, type Session, type SessionEvent } from '#manager/contract'
import { slotsText, tellSlots } from './amounts.ts'

/** Apps as clients list them. Berth tells nobody the port in the container: tunnels name the app. */
export function tellApps({ apps }: Pick<Session, 'apps'>) {
  return apps.map(({ name, protocol, allowedOptions }) => ({
    name,
    protocol: protocol === 'tcp' ? 'tcp' : 'http',
    ports: [0],
    ...(allowedOptions ? { allowed_arguments: {}, allowed_envs: {} } : {}),
  }))
}

export function tellLaunched(session: Session, status: string, created: boolean) {
  const service = tellApps(session)
  return {
    sessionId: session.id,
    sessionName: session.name,
    status,
    servicePorts: service,
    service_ports: service,
    created,
  }
}

/** Registry, name and tag of a reference, as the original has them apart. */
export function imageParts(reference: string): { registry: string; name: string; tag: string } {
  const [, path = reference, tag = 'latest'] = /^(.*?)(?::([^/:]+))?$/.exec(reference) ?? []
  const [first = '', ...rest] = path.split('/')
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  return hasHost ? { registry: first, name: rest.join('/'), tag } : { registry: 'local', name: path, tag }
}

const RESULTS = { success: 'SUCCESS', failure: 'FAILURE' } as const

/** A session as GraphQL of the original has it; fields that Berth has not are null there. */
export function tellSession(session: Session) {
  const { kernels, requested } = session
  const [main] = kernels
  const slots = slotsText(isFinished(session.status) ? {} : requested)
  return {
    id: session.id,
    session_id: session.id,
    main_kernel_id: main?.id ?? null,
    tag: session.tags[0] ?? null,
    name: session.name,
    type: session.kind.toUpperCase(),
    image: session.image,
    registry: imageParts(session.image).registry,
    cluster_template: null,
    cluster_mode: session.clusterMode === 'multi-host' ? 'multi-node' : 'single-node',
    cluster_size: session.clusterSize,
    priority: session.priority + 10,
    domain_name: session.domain,
    group_name: session.group?.name ?? null,
    group_id: session.group?.id ?? null,
    project_id: session.group?.id ?? null,
    user_email: session.ownerEmail,
    full_name: session.ownerEmail,
    user_id: session.ownerId,
    created_user_email: session.launchedBy ?? session.ownerEmail,
    created_user_id: session.ownerId,
    agent: main?.agentName ?? null,
    agents: kernels.flatMap(({ agentName }) => agentName ?? []),
    agent_ids: kernels.flatMap(({ agentId }) => agentId ?? []),
    container_id: main?.containerId ?? null,
    status: session.status,
    status_changed: session.endedAt ?? session.startedAt ?? session.createdAt,
    status_info: session.reason.code,
    status_data: JSON.stringify({ reason: session.reason.message }),
    created_at: session.createdAt,
    terminated_at: session.endedAt,
    starts_at: session.startsAt,
    startup_command: session.startupCommand,
    result: session.result === null ? 'UNDEFINED' : RESULTS[session.result],
    resource_opts: JSON.stringify({ shmem: session.shmem }),
    scaling_group: session.resourceGroup,
    service_ports: JSON.stringify(tellApps(session)),
    mounts: session.folders.map(({ name }) => name),
    vfolder_mounts: session.folders.map(({ folderId }) => folderId),
    occupied_slots: slots,
    occupying_slots: slots,
    requested_slots: slotsText(requested),
    num_queries: 0,
    idle_checks: JSON.stringify({}),
    containers: kernels.map((kernel, index) => tellKernel(session, kernel, index)),
    dependencies: session.dependsOn.map(id => ({ id, name: null })),
  }
}

function tellKernel(session: Session, kernel: Kernel, index: number) {
  const { registry } = imageParts(session.image)
  const slots = slotsText(isFinished(kernel.status) ? {} : session.requested)
  const live = index === 0 && session.stats ? JSON.stringify(tellStats(session)) : null
  return {
    id: kernel.id,
    kernel_id: kernel.id,
    session_id: session.id,
    role: kernel.role,
    hostname: kernel.role,
    cluster_role: index === 0 ? 'main' : 'sub',
    cluster_idx: index === 0 ? 1 : index,
    local_rank: index,
    cluster_hostname: kernel.role,
    image: session.image,
    registry,
    status: kernel.status,
    status_info: session.reason.code,
    status_data: JSON.stringify({ exit_code: kernel.exitCode }),
    status_changed: session.endedAt ?? session.startedAt ?? session.createdAt,
    created_at: session.createdAt,
    terminated_at: session.endedAt,
    starts_at: session.startsAt,
    agent: kernel.agentName,
    agent_id: kernel.agentId,
    container_id: kernel.containerId,
    resource_opts: JSON.stringify({ shmem: session.shmem }),
    occupied_slots: slots,
    occupying_slots: slots,
    live_stat: live,
    last_stat: live,
    preopen_ports: [],
  }
}

/** Figures by the names of the original: `current` in texts, amounts of CPU time in milliseconds. */
export function tellStats({ stats, requested }: Pick<Session, 'stats' | 'requested'>): Record<string, object> {
  if (!stats) return {}
  const figure = (current: number, unit: string, capacity?: string) => ({
    current: String(current),
    capacity: capacity ?? null,
    pct: capacity === undefined || Number(capacity) === 0 ? '0.00' : ((current / Number(capacity)) * 100).toFixed(2),
    unit_hint: unit,
  })
  return {
    cpu_used: figure(Math.round((stats.cpuSeconds ?? 0) * 1000), 'msec'),
    cpu_util: figure(stats.cpuMilli / 10, 'percent', '100'),
    mem: figure(stats.memBytes, 'bytes', tellSlots(requested).mem),
    net_rx: figure(stats.netRxBytes, 'bytes'),
    net_tx: figure(stats.netTxBytes, 'bytes'),
    io_read: figure(stats.diskReadBytes, 'bytes'),
    io_write: figure(stats.diskWriteBytes, 'bytes'),
    io_scratch_size: figure(stats.scratchBytes ?? 0, 'bytes'),
  }
}

/** The times at which a session first had each state. */
export function tellHistory(
  session: Pick<Session, 'createdAt'>,
  events: readonly SessionEvent[],
): Record<string, string> {
  const times: Record<string, string> = { PENDING: session.createdAt }
  for (const { at, to } of events) times[to] ??= at
  return times
}
