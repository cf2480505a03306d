import { type AgentId } from '#manager/contract'
import { type AgentGateway } from '../agent-link/gateway.ts'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type AgentListener } from '../agent-link/listener.ts'
import { createReports, type Reports, type ReportsDeps } from '../agents/reports.ts'
import { type AgentLinks } from '../cluster/agent-links.ts'
import { type MountsMemory, type PlacingPresence } from '../scheduler/snapshot.ts'
import { DEFAULT_TIMINGS, type Timings } from '../scheduler/timings.ts'
import { keptLog } from '../store/sessions/kept-log.ts'
import { type ImagesPart } from './images-part.ts'

/** Number of lines at the end of a log that are kept when the container ends. */
const LAST_LINES = 10_000
const LAST_LOG_MS = 3_000
const DEVICE_MODES_MS = 10_000

/** State of agents, and requests to them, for the parts that are created before the gateway. */
export type KnownAgents = PlacingPresence & MountsMemory & AgentRequests

/** Gateway and reports are created after the parts that ask about agents. */
export interface LateAgents {
  readonly gateway: () => AgentGateway
  readonly reports: () => Reports
}

/** Everything that this manager knows of agents, and requests to them. Both parts must be set before anything is asked. */
export function knownAgents({ gateway, reports }: LateAgents): KnownAgents {
  return {
    isReady: id => gateway().isConnected(id) && reports().isReady(id),
    orphans: id => reports().orphans(id),
    engineIsDown: id => reports().engineIsDown(id),
    isUnfit: id => reports().isUnfit(id),
    storage: id => reports().storage(id),
    architectures: id => reports().architectures(id),
    clusterAddress: id => reports().clusterAddress(id),
    restricts: id => reports().restricts(id),
    mounts: (agentId, kernelId) => reports().mounts(agentId, kernelId),
    noteMounted: (agentId, kernelId, folder) => reports().noteMounted(agentId, kernelId, folder),
    noteUnmounted: (agentId, kernelId, folder) => reports().noteUnmounted(agentId, kernelId, folder),
    request: (agentId, name, input, options) => gateway().request(agentId, name, input, options),
  }
}

type OwnParts = 'prepareWithinMs' | 'lastLog' | 'onImagePull' | 'onBuildLog' | 'tellDeviceModes'

export interface AgentReportsDeps extends Omit<ReportsDeps, OwnParts> {
  readonly agents: AgentRequests
  readonly images: Pick<ImagesPart, 'pulls' | 'builds'>
  readonly timings: Partial<Timings>
}

/** Handles reports of agents; asks the agents for what the reports lack, and passes news of images on. */
export function createAgentReports({ agents, images, timings, ...deps }: AgentReportsDeps): Reports {
  const { preparingMs, replyMarginMs } = { ...DEFAULT_TIMINGS, ...timings }
  return createReports({
    ...deps,
    prepareWithinMs: preparingMs + replyMarginMs,
    lastLog: (agentId, kernelId) =>
      agents
        .request(agentId, 'get_logs', { kernelId, tail: LAST_LINES }, { timeoutMs: LAST_LOG_MS })
        .then(keptLog, () => undefined),
    onImagePull: (...given) => images.pulls.onProgress(...given),
    onBuildLog: (...given) => images.builds.onLog(...given),
    tellDeviceModes: (agentId, modes) =>
      agents.request(agentId, 'set_device_modes', { modes }, { timeoutMs: DEVICE_MODES_MS }),
  })
}

export interface ListenerDeps {
  readonly reports: Reports
  readonly links: Pick<AgentLinks, 'add' | 'remove'>
  readonly isConnected: (id: AgentId) => boolean
  readonly onCame: (id: AgentId) => void
  readonly onGone: (id: AgentId) => void
}

/** Passes events of control connections to the reports, and tells the other managers which agents are connected here. */
export function createListener({ reports, links, isConnected, onCame, onGone }: ListenerDeps): AgentListener {
  return {
    ...reports,
    came(id, via) {
      links.add(id, via)
      onCame(id)
    },
    gone(id) {
      links.remove(id)
      onGone(id)
    },
    lost(id) {
      // The connection was closed here, but its close event has not arrived yet.
      if (!isConnected(id)) links.remove(id)
      return reports.lost(id)
    },
  }
}
