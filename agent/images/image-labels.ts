import { type ImageInfo } from 'dockerode'
import { type AgentImage, describeImage } from '#agent/contract'

/** Never launched, cleaned up or removed. */
export const TOOLBOX_REPOSITORY = 'berth/toolbox'

/** Names that are one: the engine lists `<none>:<none>` for images without, or, with containerd's image store, the digest. */
export function tagsOf({ RepoTags }: { readonly RepoTags?: readonly string[] | null | undefined }): string[] {
  return (RepoTags ?? []).filter(name => !name.includes('<none>') && !name.includes('@'))
}

/**
 * Manifests that the image was pulled or pushed as. With containerd's image store one that was made here has its own digest under
 * every name of its; so where a name tells of no registry it is not known to have come from any.
 */
export function repoDigestsOf({
  Id,
  RepoDigests,
}: {
  readonly Id: string
  readonly RepoDigests?: readonly string[] | null | undefined
}): string[] {
  return (RepoDigests ?? [])
    .filter(name => !name.includes('<none>') && (hasHost(name) || !name.endsWith(`@${Id}`)))
    .toSorted()
}

/** Docker takes the part before the first slash for a host where it could not be a name on Docker Hub. */
function hasHost(name: string): boolean {
  const first = name.split('/', 1)[0] ?? ''
  return name.includes('/') && (/[.:]/.test(first) || first === 'localhost')
}

/** @returns undefined for images that nobody launches: dangling ones and the toolbox */
export function readImage(image: ImageInfo): AgentImage | undefined {
  const references = tagsOf(image).filter(tag => !tag.startsWith(`${TOOLBOX_REPOSITORY}:`))
  if (references.length === 0) return undefined
  // Null for images without labels, whatever the types say.
  const labels = (image.Labels as Record<string, string> | null) ?? {}
  const described = describeImage({ id: image.Id, references, sizeBytes: image.Size, labels })
  const repoDigests = repoDigestsOf(image)
  return repoDigests.length === 0 ? described : { ...described, repoDigests }
}
