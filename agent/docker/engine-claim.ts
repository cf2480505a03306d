import { type AgentId, AppError, type ManagerId } from '#manager/contract'
import { type EngineClient, isMissing } from './engine-client.ts'
import { LABEL_MANAGER } from '#agent/contract'

const LABEL_AGENT = 'berth.agent'

export interface EngineClaim {
  /**
   * Checks whether the engine belongs to another agent; call it before anything else. A claim of another agent counts only while its
   * manager has containers on the engine; without any, that agent is considered gone.
   * @throws `engine_already_managed`
   */
  check(): Promise<void>
  /**
   * The first call claims the engine for this agent and manager. Later calls, before each new container and each rescan, check that no
   * other agent has claimed it since. @throws `engine_already_managed`
   */
  hold(managerId: ManagerId): Promise<void>
}

/**
 * Claim of one agent on an engine: two agents on one engine would both give away all of its memory. The first agent writes its id into the
 * labels of an empty volume. Creating a volume that exists returns the existing one, so two agents that start together see the same owner.
 * An agent that has lost its engine notices at its next `hold`. (The engine's own id cannot be used: engines on one machine share it.)
 *
 * @param volume name; only tests that share an engine use another name than `berth-agent`
 */
export function createEngineClaim(engine: EngineClient, agentId: AgentId, volume: string): EngineClaim {
  /** The manager for which this process has claimed the engine. */
  let taken: ManagerId | undefined
  let taking: Promise<void> | undefined

  async function read(): Promise<Record<string, string> | undefined> {
    try {
      const { Labels } = await engine.calls.getVolume(volume).inspect()
      return Labels
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async function isUsedBy(managerId: string | undefined): Promise<boolean> {
    if (managerId === undefined) return false
    const filters = { label: [`${LABEL_MANAGER}=${managerId}`] }
    return (await engine.calls.listContainers({ all: true, filters })).length > 0
  }

  async function requireOurs(labels: Readonly<Record<string, string>>): Promise<void> {
    const owner = labels[LABEL_AGENT]
    if (owner === agentId || !(await isUsedBy(labels[LABEL_MANAGER]))) return
    throw new AppError('engine_already_managed', {
      why:
        `Agent ${owner ?? 'unknown'} of manager ${labels[LABEL_MANAGER] ?? 'unknown'} has sessions on this engine. Start Berth with the data ` +
        'directory of that agent. If the directory is lost, replace the agent: berth admin agent join-token --replace, then berth agent ' +
        `--replace. If that manager is gone for good too, remove its containers and its claim: docker volume rm ${volume}`,
      owner,
      managerId: labels[LABEL_MANAGER],
    })
  }

  async function take(managerId: ManagerId): Promise<void> {
    const labels = await read()
    if (labels?.[LABEL_AGENT] === agentId && labels[LABEL_MANAGER] === managerId) return
    if (labels) {
      await requireOurs(labels)
      if (labels[LABEL_AGENT] === agentId && (await isUsedBy(labels[LABEL_MANAGER]))) {
        throw new AppError('engine_already_managed', {
          why: `Sessions of another manager (${labels[LABEL_MANAGER] ?? 'unknown'}) run on this engine. Terminate them there first.`,
        })
      }
      await engine.calls.getVolume(volume).remove()
    }
    await engine.calls.createVolume({ Name: volume, Labels: { [LABEL_AGENT]: agentId, [LABEL_MANAGER]: managerId } })
    if ((await read())?.[LABEL_AGENT] !== agentId) {
      throw new AppError('engine_already_managed', { why: 'Another agent claimed the engine at the same moment.' })
    }
  }

  return {
    async check() {
      const labels = await read()
      if (labels) await requireOurs(labels)
    },
    async hold(managerId) {
      const owner = taken === managerId ? (await read())?.[LABEL_AGENT] : undefined
      if (owner === agentId) return
      if (owner !== undefined) {
        throw new AppError('engine_already_managed', {
          why: `Agent ${owner} has taken the engine over meanwhile.`,
          owner,
        })
      }
      // The engine is not claimed yet, or its volumes were pruned, which does not give the engine to another agent.
      taking ??= take(managerId)
        .then(() => void (taken = managerId))
        .finally(() => (taking = undefined))
      await taking
    },
  }
}
