import { type AgentId, type AgentPull, AppError, type ImageBuildSpec, type Task } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { findAgent } from '../store/agents/agents.ts'
import { resolveImageAlias } from '../store/images/image-aliases.ts'
import { noSuchAgent } from '../store/missing.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Tasks } from '../tasks/tasks.ts'
import { RECHECK_MS, whileSuperadmin } from '../tasks/while-superadmin.ts'
import { type Caller } from '../users/authorize.ts'
import { readKnownImages, toImages } from './known-images.ts'

/**
 * Images that a superadmin builds from a recipe on a chosen agent.
 *
 * Threat model: a recipe runs as root in containers of the engine's builder (`agent/images/build-image.ts`), so the routes are for
 * superadmins, who may add agents and images anyhow, and a build ends when the one who started it is no superadmin any more. A build never takes the name of another image or an alias. A recipe must not contain
 * secrets: everybody who may launch the image can read its history. The audit log has who built what, not the recipe.
 */
export interface Builds {
  /** @throws AppError `agent_not_found`, `image_exists` */
  start(caller: Caller, spec: ImageBuildSpec): Promise<Task>
  /** Handles output of a build that an agent sends. */
  onLog(agentId: AgentId, buildId: string, text: string): void
}

export interface BuildsDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly tasks: Tasks
  readonly recheckMs?: number
}

const TIMEOUT_MS = 2 * 60 * 60_000
/** Number of characters kept of the end of a log. */
const LOG_LENGTH = 16_384

export function createBuilds({ store, agents, tasks, recheckMs = RECHECK_MS }: BuildsDeps): Builds {
  const { db } = store
  const listeners = new Map<string, (text: string) => void>()
  const keyOf = (agentId: AgentId, buildId: string) => `${agentId}/${buildId}`

  /** @throws AppError `image_exists` */
  async function requireFree(reference: string): Promise<void> {
    const known = toImages(await readKnownImages(db, null, [reference])).some(image => image.reference === reference)
    if (known || (await resolveImageAlias(db, reference)) !== reference)
      throw new AppError('image_exists', { reference })
  }

  return {
    async start(caller, { reference, recipe, agentId }) {
      const agent = await findAgent(db, agentId)
      if (!agent || agent.status === 'REVOKED') throw noSuchAgent(agentId)
      await requireFree(reference)
      const detailOf = (status: AgentPull['status'], log: string) => {
        const pull = { agentId, agentName: agent.name, status, progress: null, error: null }
        return { rescan: null, pull: [pull], log }
      }
      return tasks.start({
        kind: 'build',
        target: reference,
        startedBy: caller.email,
        detail: detailOf('pulling', ''),
        async run({ signal, report }) {
          const buildId = newUuid()
          let log = ''
          listeners.set(keyOf(agentId, buildId), text => {
            log = (log + text).slice(-LOG_LENGTH)
            report(detailOf('pulling', log))
          })
          const watch = { db, starter: caller.userId, signal, recheckMs }
          try {
            const input = { reference, recipe, buildId }
            await whileSuperadmin(watch, until =>
              agents.request(agentId, 'build_image', input, { timeoutMs: TIMEOUT_MS, signal: until }),
            )
            report(detailOf('done', log))
          } catch (error) {
            report(detailOf(signal.aborted ? 'cancelled' : 'failed', log))
            throw error
          } finally {
            listeners.delete(keyOf(agentId, buildId))
          }
        },
      })
    },
    onLog: (agentId, buildId, text) => listeners.get(keyOf(agentId, buildId))?.(text),
  }
}
