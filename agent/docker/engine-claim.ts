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

/** Owner of an engine, by the labels of its claim. */
interface Claim {
  readonly agentId: string | undefined
  readonly managerId: string | undefined
}

/** @param volume name of the claim @returns undefined if nobody has claimed the engine */
export async function readClaim({ calls }: EngineClient, volume: string): Promise<Claim | undefined> {
  try {
    const { Labels } = await calls.getVolume(volume).inspect()
    const labels = Labels as Readonly<Record<string, string>> | null // a volume without labels is nobody's claim
    return labels ? { agentId: labels[LABEL_AGENT], managerId: labels[LABEL_MANAGER] } : undefined
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
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

  const read = () => readClaim(engine, volume)

  async function isUsedBy(managerId: string | undefined): Promise<boolean> {
    if (managerId === undefined) return false
    const filters = { label: [`${LABEL_MANAGER}=${managerId}`] }
    return (await engine.calls.listContainers({ all: true, filters })).length > 0
  }

  async function requireOurs({ agentId: owner, managerId }: Claim): Promise<void> {
    if (owner === agentId || !(await isUsedBy(managerId))) return
    throw new AppError('engine_already_managed', {
      why:
        `Agent ${owner ?? 'unknown'} of manager ${managerId ?? 'unknown'} has sessions on this engine. Start Berth with the data ` +
        'directory of that agent. If the directory is lost, replace the agent: berth admin agent join-token --replace, then berth agent ' +
        `--replace. If that manager is gone for good too, remove its containers and its claim: docker volume rm ${volume}`,
      owner,
      managerId,
    })
  }

  async function take(managerId: ManagerId): Promise<void> {
    const claim = await read()
    if (claim?.agentId === agentId && claim.managerId === managerId) return
    if (claim) {
      await requireOurs(claim)
      if (claim.agentId === agentId && (await isUsedBy(claim.managerId))) {
        throw new AppError('engine_already_managed', {
          why: `Sessions of another manager (${claim.managerId ?? 'unknown'}) run on this engine. Terminate them there first.`,
        })
      }
      await engine.calls.getVolume(volume).remove()
    }
    await engine.calls.createVolume({ Name: volume, Labels: { [LABEL_AGENT]: agentId, [LABEL_MANAGER]: managerId } })
    if ((await read())?.agentId !== agentId) {
      throw new AppError('engine_already_managed', { why: 'Another agent claimed the engine at the same moment.' })
    }
  }

  return {
    async check() {
      const claim = await read()
      if (claim) await requireOurs(claim)
    },
    async hold(managerId) {
      const owner = taken === managerId ? (await read())?.agentId : undefined
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
