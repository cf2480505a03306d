import { type AgentId, because, toWireError } from '#manager/contract'
import { type AgentImage } from '#agent/contract'
import { type AgentReads } from '../agent-link/reads.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { lockAgent } from '../store/agents/agents.ts'
import { replaceImages } from '../store/images/images.ts'
import { type Store } from '../store/open-store.ts'
import { type AgentMemory } from './agent-memory.ts'
import { digestOf } from './known-state.ts'

export interface ReportedImagesDeps {
  readonly store: Store
  readonly reads: Pick<AgentReads, 'find'>
  readonly events: EventPublisher
  readonly log: Log
}

/**
 * Stores the images that an agent holds. Agents report images only when they change, so images that could not be written stay in the memory
 * of the agent, and the next report writes them. @returns a function that resolves to whether the stored images have changed; it never
 * rejects
 */
export function createImageWriter({ store, reads, events, log }: ReportedImagesDeps) {
  return async function write(
    agentId: AgentId,
    memory: Pick<AgentMemory, 'images' | 'problems'>,
    reported: readonly AgentImage[] | undefined,
  ): Promise<boolean> {
    memory.images = reported ?? memory.images
    if (memory.images === undefined) return false
    try {
      const other = await save(agentId, memory.images)
      memory.images = undefined
      memory.problems.note('images', null)
      return other
    } catch (error) {
      // A failure must not prevent the agent from working.
      log.error({ err: error, agentId }, 'the images of an agent could not be written')
      memory.problems.note('images', because('images_not_saved', { code: toWireError(error).code }))
      return false
    }
  }

  /** @returns false if the images are stored already */
  async function save(agentId: AgentId, images: readonly AgentImage[]): Promise<boolean> {
    const digest = await digestOf(images)
    if ((await reads.find(agentId))?.images_digest === digest) return false
    await store.transaction(async trx => {
      // Every manager receives the report and writes the images: the lock serialises them.
      await lockAgent(trx, agentId)
      await replaceImages(trx, agentId, images, digest)
    })
    events.publish({ topic: 'image', id: agentId, version: store.now() }, 'everyone')
    return true
  }
}
