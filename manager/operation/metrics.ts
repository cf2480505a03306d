import { formatAmount, type ResourceSlots, SLOT_NAMES } from '#manager/contract'
import { type Metrics, type Sample } from '../metrics.ts'
import { type Applied } from '../sessions/changes.ts'
import {
  type AgentMetrics,
  readAgentMetrics,
  readKernelMetrics,
  readSessionMetrics,
} from '../store/operation/metrics.ts'
import { type Db } from '../store/schema.ts'

export interface MetricsDeps {
  readonly metrics: Metrics
  readonly db: Db
  readonly onApplied: (listener: (applied: Applied) => void) => void
  readonly tunnels: () => { tunnels: number; terminals: number; bytesUp: number; bytesDown: number }
  readonly sftp: () => { connections: number; bytesUp: number; bytesDown: number }
  readonly eventStreams: () => number
  /** Number of audit rows that wait for the database. */
  readonly auditQueue: () => number
}

/** Gauges of one scrape share a read: its result is reused for this long. */
const SAME_SCRAPE_MS = 500

/** Registers the metrics of /metrics beside those of the process itself: queues, states, agents, tunnels. */
export function registerMetrics(deps: MetricsDeps): void {
  const { metrics, db, onApplied, tunnels, sftp, eventStreams, auditQueue } = deps
  const sessions = once(() => readSessionMetrics(db))
  const agents = once(() => readAgentMetrics(db))

  metrics.gauge({
    name: 'berth_sessions',
    help: 'Live sessions.',
    labels: ['resource_group', 'status'],
    collect: async () =>
      (await sessions()).map(({ resourceGroup, status, count }) => ({
        labels: { resource_group: resourceGroup, status },
        value: count,
      })),
  })
  metrics.gauge({
    name: 'berth_session_state_oldest_seconds',
    help: 'For how long the oldest session has been in its state; PENDING is the queue.',
    labels: ['resource_group', 'status'],
    collect: async () =>
      (await sessions()).map(({ resourceGroup, status, oldestSeconds }) => ({
        labels: { resource_group: resourceGroup, status },
        value: oldestSeconds,
      })),
  })
  metrics.gauge({
    name: 'berth_kernels',
    help: 'Kernels that hold resources.',
    labels: ['status'],
    collect: async () =>
      (await readKernelMetrics(db)).map(({ status, count }) => ({ labels: { status }, value: count })),
  })

  const ofAgents = (name: string, help: string, value: (agent: AgentMetrics) => number) =>
    metrics.gauge({
      name,
      help,
      labels: AGENT_LABELS,
      collect: async () => (await agents()).map(agent => ({ labels: labelsOf(agent), value: value(agent) })),
    })
  ofAgents('berth_agent_connected', '1 while an agent is connected.', ({ status }) => Number(status === 'CONNECTED'))
  ofAgents('berth_agent_schedulable', '1 where an agent takes new sessions.', ({ schedulable }) => Number(schedulable))
  ofAgents('berth_agent_silent_seconds', 'Since the last word of an agent.', ({ silentSeconds }) => silentSeconds)
  ofAgents('berth_agent_kernels', 'Kernels that hold resources of an agent.', ({ kernels }) => kernels)
  const amounts = (name: string, help: string, slots: (agent: AgentMetrics) => ResourceSlots) =>
    metrics.gauge({
      name,
      help,
      labels: [...AGENT_LABELS, 'slot'],
      collect: async () => (await agents()).flatMap(agent => amountsOf(agent, slots(agent))),
    })
  amounts('berth_agent_capacity', 'What an agent offers: cores, bytes, devices.', ({ capacity }) => capacity)
  amounts('berth_agent_occupied', 'What is held of it.', ({ occupied }) => occupied)

  const moved = metrics.counter({
    name: 'berth_session_transitions_total',
    help: 'Changes of state, counted by the manager that made them.',
    labels: ['from', 'to'],
  })
  onApplied(({ from, to, remote }) => {
    if (!remote && from !== to) moved({ from, to })
  })

  metrics.gauge({
    name: 'berth_tunnels',
    help: 'Open tunnels through this manager.',
    labels: ['kind'],
    collect() {
      const { tunnels: all, terminals } = tunnels()
      return [
        { labels: { kind: 'app' }, value: all - terminals },
        { labels: { kind: 'terminal' }, value: terminals },
      ]
    },
  })
  metrics.total({
    name: 'berth_tunnel_bytes_total',
    help: 'Bytes through tunnels of this manager: up = to the session.',
    labels: ['direction'],
    collect() {
      const { bytesUp, bytesDown } = tunnels()
      return [
        { labels: { direction: 'up' }, value: bytesUp },
        { labels: { direction: 'down' }, value: bytesDown },
      ]
    },
  })
  metrics.gauge({
    name: 'berth_sftp_connections',
    help: 'Open SFTP connections to folders.',
    collect: () => sftp().connections,
  })
  metrics.total({
    name: 'berth_sftp_bytes_total',
    help: 'Bytes of SFTP connections to folders: up = from the client.',
    labels: ['direction'],
    collect() {
      const { bytesUp, bytesDown } = sftp()
      return [
        { labels: { direction: 'up' }, value: bytesUp },
        { labels: { direction: 'down' }, value: bytesDown },
      ]
    },
  })
  metrics.gauge({ name: 'berth_event_streams', help: 'Open event streams of clients.', collect: eventStreams })
  metrics.gauge({ name: 'berth_audit_queue', help: 'Audit rows that wait for the database.', collect: auditQueue })
}

/** The id is a label too, because names are not unique: a host that joined again has the same name as its lost agent. */
const AGENT_LABELS = ['agent', 'agent_id', 'resource_group'] as const

function labelsOf({ id, name, resourceGroup }: AgentMetrics): Record<string, string> {
  return { agent: name, agent_id: id, resource_group: resourceGroup }
}

function amountsOf(agent: AgentMetrics, slots: ResourceSlots): Sample[] {
  return SLOT_NAMES.filter(slot => (agent.capacity[slot] ?? 0) > 0).map(slot => ({
    labels: { ...labelsOf(agent), slot },
    value: Number(formatAmount(slot, slots[slot] ?? 0)),
  }))
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { at: number; value: Promise<T> } | undefined
  return () => {
    const now = performance.now()
    if (!last || now - last.at > SAME_SCRAPE_MS) last = { at: now, value: read() }
    return last.value
  }
}
