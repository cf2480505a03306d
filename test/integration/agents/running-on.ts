import { type KernelId, type Session } from '#manager/contract'
import { type ScriptedAgent, type ScriptedContainer } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Launches a session, and waits until it runs on this agent, which must be the only one. */
export async function runningOn(
  cluster: SessionsCluster,
  agent: ScriptedAgent,
): Promise<{ session: Session; kernelId: KernelId; container: ScriptedContainer }> {
  const { id } = await cluster.launch()
  const session = await cluster.reach(id, 'RUNNING')
  const kernelId = session.kernels[0]?.id
  const container = kernelId && agent.containers.get(kernelId)
  if (!container) throw new Error('not on this agent')
  return { session, kernelId, container }
}
