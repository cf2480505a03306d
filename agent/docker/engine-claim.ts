import { type AgentId, AppError, type ManagerId } from '#manager/contract'
import { type EngineClient, isMissing } from './engine-client.ts'
import { LABEL_MANAGER } from '#agent/contract'

const LABEL_AGENT = 'berth.agent'

export interface EngineClaim {
  /** Before anything else: is the engine another agent's? @throws `engine_already_managed` */
  check(): Promise<void>
  /** Takes the engine for this agent and manager. Safe to repeat. @throws `engine_already_managed` */
  take(managerId: ManagerId): Promise<void>
}

/**
 * Two agents on one engine would both give away all of its memory. So the first writes its id into the labels of an empty volume;
 * creating a volume that exists returns the existing one, so that two who start together see the same owner. (The engine's own id is
 * no identity: engines on one machine share it.)
 *
 * @param volume name; only tests that share an engine use another one than `berth-agent`
 */
export function createEngineClaim(engine: EngineClient, agentId: AgentId, volume: string): EngineClaim {
  async function read(): Promise<Record<string, string> | undefined> {
    try {
      const { Labels } = await engine.calls.getVolume(volume).inspect()
      return Labels
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  function requireOurs(labels: Readonly<Record<string, string>>): void {
    const owner = labels[LABEL_AGENT]
    if (owner === agentId) return
    throw new AppError('engine_already_managed', {
      why:
        `The volume ${volume} names ${owner ?? 'nobody'} as its agent, and this agent is ${agentId}. Start that agent with its own data ` +
        `directory, or, if it is gone for good, remove the volume: docker volume rm ${volume}`,
      owner,
    })
  }

  async function isUsedBy(managerId: string): Promise<boolean> {
    const filters = { label: [`${LABEL_MANAGER}=${managerId}`] }
    return (await engine.calls.listContainers({ all: true, filters })).length > 0
  }

  return {
    async check() {
      const labels = await read()
      if (labels) requireOurs(labels)
    },
    async take(managerId) {
      const labels = await read()
      if (labels) {
        requireOurs(labels)
        const before = labels[LABEL_MANAGER]
        if (before === managerId) return
        if (before !== undefined && (await isUsedBy(before))) {
          throw new AppError('engine_already_managed', {
            why: `Sessions of another manager (${before}) are on this engine. Terminate them there first.`,
          })
        }
        await engine.calls.getVolume(volume).remove()
      }
      await engine.calls.createVolume({ Name: volume, Labels: { [LABEL_AGENT]: agentId, [LABEL_MANAGER]: managerId } })
      requireOurs((await read()) ?? {})
    },
  }
}
