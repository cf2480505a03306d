import { type ImageInfo } from 'dockerode'
import { type AgentImage, describeImage } from '#agent/contract'

/** Never launched, cleaned up or removed. */
export const TOOLBOX_REPOSITORY = 'berth/toolbox'

/** Names that are one: the engine lists `<none>:<none>` for images without. */
export function realNames(names: readonly string[] | null | undefined): string[] {
  return (names ?? []).filter(name => !name.includes('<none>'))
}

/** @returns undefined for images that nobody launches: dangling ones and the toolbox */
export function readImage(image: ImageInfo): AgentImage | undefined {
  const references = realNames(image.RepoTags).filter(tag => !tag.startsWith(`${TOOLBOX_REPOSITORY}:`))
  if (references.length === 0) return undefined
  // Null for images without labels, whatever the types say.
  const labels = (image.Labels as Record<string, string> | null) ?? {}
  const described = describeImage({ id: image.Id, references, sizeBytes: image.Size, labels })
  const repoDigests = realNames(image.RepoDigests)
  return repoDigests.length === 0 ? described : { ...described, repoDigests: repoDigests.toSorted() }
}
