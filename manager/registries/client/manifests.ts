import { createHash } from 'node:crypto'
import { z } from 'zod'

export const MANIFEST_TYPES = [
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.index.v1+json',
].join(', ')

const CONFIG_TYPES = new Set([
  'application/vnd.docker.container.image.v1+json',
  'application/vnd.oci.image.config.v1+json',
])

const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/)
const Size = z.int().min(0)

/** @see OCI image specification, "Image Manifest" */
export const Manifest = z.object({
  config: z.object({ mediaType: z.string(), digest: Digest, size: Size }),
  layers: z.array(z.object({ size: Size })).max(1000),
})
export type Manifest = z.infer<typeof Manifest>

/** @see OCI image specification, "Image Index" */
export const Index = z.object({
  manifests: z
    .array(
      z.object({
        digest: Digest,
        platform: z.object({ os: z.string(), architecture: z.string(), variant: z.string().optional() }).nullish(),
      }),
    )
    .max(1000),
})
export type Index = z.infer<typeof Index>

export const ImageConfig = z.object({
  os: z.string(),
  architecture: z.string(),
  config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
})

/**
 * The reason why a tag is left out. `vanished`: it was listed a moment ago and is gone. `broken`: it cannot be read. `other`: it is not an
 * image, or not for our machines.
 */
export class TagProblem extends Error {
  readonly kind: 'vanished' | 'broken' | 'other'
  constructor(kind: TagProblem['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** @throws TagProblem */
export function readManifest(body: Buffer): { manifest: Manifest } | { index: Index } {
  const json = parsePart(body, 'manifest')
  if (typeof json === 'object' && json !== null && 'schemaVersion' in json && json.schemaVersion === 1) {
    throw new TagProblem('broken', 'The manifest has the old format of Docker before 1.10. Push the image again.')
  }
  const index = Index.safeParse(json)
  if (index.success) return { index: index.data }
  const manifest = Manifest.safeParse(json)
  if (!manifest.success) throw new TagProblem('broken', 'The manifest cannot be read.')
  if (!CONFIG_TYPES.has(manifest.data.config.mediaType))
    throw new TagProblem('other', 'The repository entry is not a container image.')
  return { manifest: manifest.data }
}

/** Digest of the manifest for Linux on this architecture. @throws TagProblem */
export function choosePlatform({ manifests }: Index, architecture: string): string {
  const fitting = manifests.filter(({ platform }) => platform?.os === 'linux' && platform.architecture === architecture)
  const best =
    fitting.find(({ platform }) => platform?.variant === undefined || platform.variant === 'v8') ?? fitting[0]
  if (best) return best.digest
  const there = manifests.flatMap(({ platform }) =>
    platform && platform.os !== 'unknown' ? [`${platform.os}/${platform.architecture}`] : [],
  )
  throw new TagProblem(
    'other',
    `The image is not for linux/${architecture}, but for ${[...new Set(there)].join(', ') || 'no platform'}.`,
  )
}

/** @throws TagProblem */
export function readConfig(body: Buffer): z.infer<typeof ImageConfig> {
  const config = ImageConfig.safeParse(parsePart(body, 'configuration'))
  if (!config.success) throw new TagProblem('broken', 'The configuration of the image cannot be read.')
  return config.data
}

export function digestOf(body: Buffer): string {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`
}

/** @throws TagProblem */
export function checkDigest(body: Buffer, digest: string, what: string): void {
  if (digestOf(body) !== digest) throw new TagProblem('broken', `The ${what} of the image does not match its digest.`)
}

const MAX_LABEL_LENGTH = 65_536
const KEPT_LABEL = /^(berth\.image\.|ai\.backend\.|org\.opencontainers\.image\.(title|description)$)/

/** The labels that Berth uses. */
export function keptLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).filter(([name, value]) => KEPT_LABEL.test(name) && value.length <= MAX_LABEL_LENGTH),
  )
}

function parsePart(body: Buffer, what: string): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new TagProblem('broken', `The ${what} of the image is not valid JSON.`)
  }
}
