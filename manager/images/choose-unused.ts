import { type AgentId } from '#manager/contract'
import { type UnusedImage } from '#agent/contract'
import { registryOf } from '../registries/registry-address.ts'
import { type ImageInUse } from '../store/images/images.ts'
import { isOffered, type OfferedImage } from './known-images.ts'

export interface CleanUpContext {
  readonly agentId: AgentId
  readonly inUse: readonly ImageInUse[]
  /** Names of all registries, active or not. */
  readonly registries: ReadonlySet<string>
  /** Images that active registries have, by reference. */
  readonly offered: ReadonlyMap<string, OfferedImage>
  readonly includeLocal: boolean
}

/** An image with the names under which it was listed. */
export interface ListedImage {
  readonly digest: string
  readonly references: readonly string[]
}

export interface CleanUpChoice {
  readonly remove: readonly UnusedImage[]
  readonly kept: readonly { readonly image: UnusedImage; readonly why: string }[]
}

/**
 * Chooses the images to remove among those of an engine that no container uses. Pure.
 *
 * Only images that concern Berth are considered: those with labels for sessions, and those of known registries. An engine may serve other
 * purposes too. It chooses only images that a registry can provide again, or that have lost their name to a newer image. With
 * `includeLocal`, all images with labels are removed. Images of live sessions always stay.
 */
export function chooseUnused(images: readonly UnusedImage[], context: CleanUpContext): CleanUpChoice {
  const remove: UnusedImage[] = []
  const kept: { image: UnusedImage; why: string }[] = []
  for (const image of images) {
    const why = reasonToKeep(image, context)
    if (why === undefined) remove.push(image)
    else if (why !== '') kept.push({ image, why })
  }
  return { remove, kept }
}

/**
 * Reduces a choice to the images that somebody has seen and agreed to: an image that appeared since is silently kept, and one that has got
 * another name since is kept with a reason.
 */
export function onlyListed(choice: CleanUpChoice, listed: readonly ListedImage[]): CleanUpChoice {
  const named = new Map(listed.map(({ digest, references }) => [digest, new Set(references)]))
  const shown = choice.remove.filter(({ id }) => named.has(id))
  const isAsListed = ({ id, references }: UnusedImage) => references.every(name => named.get(id)?.has(name))
  const renamed = shown.filter(image => !isAsListed(image))
  return {
    remove: shown.filter(isAsListed),
    kept: [...choice.kept, ...renamed.map(image => ({ image, why: 'The image has got another name since the list.' }))],
  }
}

/** Reason to keep the image; undefined: remove it; empty: the image does not concern Berth, so it is not reported. */
function reasonToKeep(image: UnusedImage, context: CleanUpContext): string | undefined {
  const { agentId, inUse, registries, includeLocal } = context
  const ofRegistry = [...image.references, ...image.repoDigests].some(name => registries.has(registryOf(name)))
  if (!image.labelled && !(ofRegistry && image.repoDigests.length > 0)) return ''
  const used = inUse.some(
    one =>
      (one.agentId === agentId || one.agentId === null) &&
      (one.digest === image.id || (one.digest === null && image.references.includes(one.reference))),
  )
  if (used) return 'A live session uses this image.'
  if (includeLocal && image.labelled) return undefined
  const superseded = image.references.length === 0 && image.repoDigests.length > 0
  if (superseded || isOfferedAgain(image, context)) return undefined
  return 'No active registry is known to have this image, so it could not be pulled again.'
}

function isOfferedAgain(image: UnusedImage, { offered }: CleanUpContext): boolean {
  const { references } = image
  return references.length > 0 && references.every(reference => isOffered(image, offered.get(reference)))
}
