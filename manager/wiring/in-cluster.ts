import { type AgentId, because, type SessionId } from '#manager/contract'
import { type AgentGateway } from '../agent-link/gateway.ts'
import { type Reports } from '../agents/reports.ts'
import { type Cluster } from '../cluster/cluster.ts'
import { type Log } from '../log.ts'
import { type AgentPresence } from '../scheduler/snapshot.ts'
import { listKernels } from '../store/sessions/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { type Lifecycle } from '../sessions/lifecycle/lifecycle.ts'

export interface InClusterDeps {
  readonly store: Store
  readonly cluster: Cluster
  readonly gateway: AgentGateway
  readonly reports: Reports
  readonly presence: AgentPresence
  readonly changes: SessionChanges
  readonly lifecycle: Pick<Lifecycle, 'finishTermination'>
  readonly log: Log
}

/**
 * Connects sessions and agents to the other managers on the database: informs agents of them, resumes work that they left unfinished, and
 * disconnects an agent everywhere when one of them revokes it. @returns the gateway for services that revoke agents
 */
export function followCluster(deps: InClusterDeps): AgentGateway {
  const { cluster, gateway, reports, log } = deps
  const fail = (what: string) => (error: unknown) => log.error({ err: error }, what)
  const takeOver = () => void reports.takeOver().catch(fail('work of another manager was not taken up'))
  cluster.onMembers(() => gateway.announceManagers())
  cluster.peers.onGap(takeOver)
  cluster.jobLocks.onTaken(takeOver)
  cluster.links.onUnlinked(id => void reports.lost(id).catch(fail('the loss of an agent was not written')))
  const revoked = cluster.peers.topic<AgentId>(AGENT_REVOKED)
  revoked.on(id => gateway.disconnect(id, because('agent_removed')))
  const wanted = cluster.peers.topic<AgentId>(AGENT_WANTED)
  wanted.on(id => gateway.announceManagers(id))
  endThroughOthers(deps)
  return {
    ...gateway,
    disconnect(id, why) {
      gateway.disconnect(id, why)
      revoked.tell(id)
    },
  }
}

const AGENT_REVOKED = 'agent_revoked'
const AGENT_WANTED = 'agent_wanted'

/** For the gateway: informs every manager that the agent's previous key is revoked. */
export function createTellReplaced(cluster: Cluster): (agentId: AgentId) => void {
  const revoked = cluster.peers.topic<AgentId>(AGENT_REVOKED)
  return id => revoked.tell(id)
}

/** For the gateway: asks the manager that is connected to the agent to inform it of this manager once more. */
export function createSeek(cluster: Cluster): (agentId: AgentId) => Promise<boolean> {
  const wanted = cluster.peers.topic<AgentId>(AGENT_WANTED)
  return async agentId => {
    if (cluster.members().length < 2 || !(await cluster.links.isElsewhere(agentId))) return false
    wanted.tell(agentId)
    return true
  }
}

/** If this manager ends a session without being connected to all of its agents, asks the other managers to finish the end. */
function endThroughOthers({ store, cluster, presence, changes, lifecycle, log }: InClusterDeps): void {
  const asked = cluster.peers.topic<SessionId>('finish_termination')
  asked.on(id => lifecycle.finishTermination(id))
  const tell = async (id: SessionId) => {
    const kernels = await listKernels(store.db, [id])
    if (kernels.some(({ agent_id: on }) => on !== null && !presence.isReady(on))) asked.tell(id)
  }
  changes.onApplied(({ sessionId, to, remote }) => {
    if (remote || to !== 'TERMINATING' || cluster.members().length < 2) return
    tell(sessionId).catch((error: unknown) => log.warn({ err: error, sessionId }, 'other managers were not asked'))
  })
}
