import { createHash } from 'node:crypto'
import { type ImageOffer } from '#agent/contract'
import { type AgentId, type SessionId } from '#manager/contract'
import { readDisputed, readImageTransfers } from '../store/images/image-transfers.ts'
import { type Db } from '../store/schema.ts'
import { type ImageTransfers } from './transfers.ts'

/** Images that the agents of starting sessions take from other agents. */
export interface SessionTransfers extends Pick<ImageTransfers, 'during'> {
  /**
   * The image of a session as its agent takes it from another one; undefined if the setting says no, no connected agent has it, or its name
   * means another image elsewhere.
   * @param isOffered whether a registry offers the image
   */
  offerFor(
    session: {
      readonly id: SessionId
      readonly image: string
      readonly image_digest: string | null
      readonly attempt: number
    },
    place: { readonly agentId: AgentId; readonly isOffered: boolean },
  ): Promise<ImageOffer | undefined>
}

export function createSessionTransfers(db: Db, transfers: ImageTransfers): SessionTransfers {
  return {
    during: (...given) => transfers.during(...given),
    async offerFor({ id, image, image_digest: digest, attempt }, { agentId, isOffered }) {
      if (digest === null) return undefined
      const mode = await readImageTransfers(db)
      // The registry is left for the next attempt.
      const wanted = isOffered ? mode === 'always' && attempt <= 1 : mode !== 'never'
      const isDisputed = wanted && (await readDisputed(db, [{ reference: image, digest }])).size > 0
      const offer = wanted && !isDisputed ? await transfers.offer(digest, agentId, image) : undefined
      const references = offer?.references.filter(isNameOfSessions) ?? []
      return offer && { ...offer, references, transferId: transferIdOf(id, attempt) }
    },
  }
}

/**
 * Whether a host may call an image by this name because a session brought it there. Everybody who may launch sessions chooses what is brought,
 * so it gets no name that Berth itself or recipes start from: that of the toolbox, or one of the usual bases, which have no slash. Without a
 * name the image is found by its digest.
 */
export const isNameOfSessions = (reference: string) =>
  reference.includes('/') && !/^(docker\.io\/)?(library|berth\/toolbox)([/:@]|$)/.test(reference)

/**
 * Transfer of an attempt of a session, always the same: after a restart, or when another manager takes over, the agent goes on with the request
 * that it has, and waits for sockets of that transfer.
 *
 * @returns a UUID of version 8 (RFC 9562)
 */
export function transferIdOf(id: SessionId, attempt: number): string {
  const hex = createHash('sha256').update(`image of ${id}, attempt ${attempt}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
