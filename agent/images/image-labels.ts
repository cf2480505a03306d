import { type ImageInfo } from 'dockerode'
import { type AgentImage, describeImage } from '#agent/contract'

/** Repository of the toolbox image, which is never launched, cleaned up or removed. */
export const TOOLBOX_REPOSITORY = 'berth/toolbox'

/** Real names only: for an unnamed image the engine lists `<none>:<none>` or, with containerd's image store, the digest. */
export function tagsOf({ RepoTags }: { readonly RepoTags?: readonly string[] | null | undefined }): string[] {
  return (RepoTags ?? []).filter(name => !name.includes('<none>') && !name.includes('@'))
}

/** Manifests under which the image was pulled or pushed. */
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

/** Docker takes the part before the first slash for a registry host if it could not be a name on Docker Hub. */
function hasHost(name: string): boolean {
  const first = name.split('/', 1)[0] ?? ''
  return name.includes('/') && (/[.:]/.test(first) || first === 'localhost')
}

/** @returns undefined for images that cannot be launched: dangling ones and the toolbox */
export function readImage(image: ImageInfo): AgentImage | undefined {
  const references = tagsOf(image).filter(tag => !tag.startsWith(`${TOOLBOX_REPOSITORY}:`))
  if (references.length === 0) return undefined
  // Null for images without labels, whatever the types say.
  const labels = (image.Labels as Record<string, string> | null) ?? {}
  const described = describeImage({ id: image.Id, references, sizeBytes: image.Size, labels })
  const repoDigests = repoDigestsOf(image)
  return repoDigests.length === 0 ? described : { ...described, repoDigests }
}
