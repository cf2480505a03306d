import { type ImageOffer } from '#agent/contract'
import { type AgentId } from '#manager/contract'
import { readImageTransfers } from '../store/images/image-transfers.ts'
import { type Db } from '../store/schema.ts'
import { type ImageTransfers } from './transfers.ts'

/** Images that the agents of starting sessions take from other agents. */
export interface SessionTransfers extends Pick<ImageTransfers, 'during'> {
  /**
   * The image of a session as its agent takes it from another one; undefined if the setting says no, or no connected agent has it.
   * @param isOffered whether a registry offers the image
   */
  offerFor(
    session: { readonly image: string; readonly image_digest: string | null; readonly attempt: number },
    place: { readonly agentId: AgentId; readonly isOffered: boolean },
  ): Promise<ImageOffer | undefined>
}

export function createSessionTransfers(db: Db, transfers: ImageTransfers): SessionTransfers {
  return {
    during: (...given) => transfers.during(...given),
    async offerFor({ image, image_digest: digest, attempt }, { agentId, isOffered }) {
      if (digest === null) return undefined
      const mode = await readImageTransfers(db)
      // The registry is left for the next attempt.
      const wanted = isOffered ? mode === 'always' && attempt <= 1 : mode !== 'never'
      return wanted ? transfers.offer(digest, agentId, image) : undefined
    },
  }
}
