import { type AgentId } from '#manager/contract'
import { type AgentGateway } from '../agents/gateway.ts'
import { type Reports } from '../agents/reports.ts'
import { type Cluster } from '../cluster/cluster.ts'
import { type Log } from '../log.ts'

export interface InClusterDeps {
  readonly cluster: Cluster
  readonly gateway: AgentGateway
  readonly reports: Reports
  readonly log: Log
}

/**
 * What sessions and agents have to do with other managers on the database: agents are told of them, what one of them left
 * lying is taken up, and whom one of them revokes is hung up on everywhere.
 *
 * @returns the gateway for whoever revokes agents
 */
export function followCluster({ cluster, gateway, reports, log }: InClusterDeps): AgentGateway {
  const fail = (what: string) => (error: unknown) => log.error({ err: error }, what)
  const takeOver = () => void reports.takeOver().catch(fail('work of another manager was not taken up'))
  cluster.onMembers(() => gateway.announceManagers())
  cluster.peers.onGap(takeOver)
  cluster.turns.onTaken(takeOver)
  cluster.links.onUnlinked(id => void reports.lost(id).catch(fail('the loss of an agent was not written')))
  const revoked = cluster.peers.topic<AgentId>('agent_revoked')
  revoked.on(id => gateway.disconnect(id, 'It was revoked.'))
  return {
    ...gateway,
    disconnect(id, why) {
      gateway.disconnect(id, why)
      revoked.tell(id)
    },
  }
}
