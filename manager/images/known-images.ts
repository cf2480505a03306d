import { defined } from '#base/defined'
import { type AgentId, DOCKER_HUB, formatSlots, type Image, type ResourceSlots } from '#manager/contract'
import { type AgentImage, describeImage } from '#agent/contract'
import { registryOf } from '../registries/registry-address.ts'
import { listImageAliases } from '../store/images/image-aliases.ts'
import { readImageDomains } from '../store/images/image-domains.ts'
import { readImageMinimums } from '../store/images/image-settings.ts'
import { type HeldImage, listHeldImages } from '../store/images/images.ts'
import { listOfferedImages, type RegistryImageRow } from '../store/images/registry-images.ts'
import { type Db } from '../store/schema.ts'
import { toApp } from './apps.ts'

/** An image that an active registry has under a name. */
export interface OfferedImage {
  readonly reference: string
  readonly registry: string
  readonly manifestDigest: string
  /** The image as an agent that holds it would report it. */
  readonly image: AgentImage
}

/** Images that one caller may launch. */
export interface KnownImages {
  readonly held: readonly HeldImage[]
  /** By reference. */
  readonly offered: ReadonlyMap<string, OfferedImage>
  /** Minimums, by reference, that an admin has set instead of the labels' values. */
  readonly minimums: ReadonlyMap<string, ResourceSlots>
  /** Domains that may use an image, by reference. Images without an entry are for all domains. */
  readonly domains: ReadonlyMap<string, readonly string[]>
  /** Full reference of each alias. */
  readonly aliases: ReadonlyMap<string, string>
}

/**
 * Reads the images on agents and in registries.
 *
 * @param allowed names of the registries to include; null = all
 * @param references limits images of registries to these names
 */
export async function readKnownImages(
  db: Db,
  allowed: readonly string[] | null,
  references?: readonly string[],
): Promise<KnownImages> {
  const isHubAllowed = allowed === null || allowed.includes(DOCKER_HUB)
  const [held, rows, minimums, domains, aliases, ofHub] = await Promise.all([
    listHeldImages(db),
    listOfferedImages(db, { registries: allowed, references }),
    readImageMinimums(db),
    readImageDomains(db),
    listImageAliases(db),
    isHubAllowed ? [] : listOfferedImages(db, { registries: [DOCKER_HUB], references }),
  ])
  const hub = new Map(ofHub.map(row => [row.reference, toOffered(row)]))
  return {
    held: allowed === null ? held : held.flatMap(copy => allowedCopy(copy, allowed, hub)),
    offered: new Map(rows.map(row => [row.reference, toOffered(row)])),
    minimums,
    domains,
    aliases: new Map(aliases.map(({ alias, reference }) => [alias, reference])),
  }
}

/** Reads the images on one agent, as if there were no other: copies on other agents do not change how an image is described. */
export async function readImagesOn(db: Db, agentId: AgentId): Promise<KnownImages> {
  const held = await listHeldImages(db, agentId)
  const references = [...new Set(held.flatMap(({ image }) => image.references))]
  const [rows, minimums, domains, aliases] = await Promise.all([
    references.length === 0 ? [] : listOfferedImages(db, { registries: null, references }),
    readImageMinimums(db),
    readImageDomains(db),
    listImageAliases(db),
  ])
  return {
    held,
    offered: new Map(rows.map(row => [row.reference, toOffered(row)])),
    minimums,
    domains,
    aliases: new Map(aliases.map(({ alias, reference }) => [alias, reference])),
  }
}

/** The images that users of a domain may launch. The setting belongs to the name, as the minimum does. Pure. */
export function forDomain(images: KnownImages, domain: string): KnownImages {
  const isFor = (reference: string) => images.domains.get(reference)?.includes(domain) ?? true
  return {
    ...images,
    held: images.held.flatMap(({ agentId, image }) => {
      const references = image.references.filter(isFor)
      return references.length === 0 ? [] : [{ agentId, image: { ...image, references } }]
    }),
    offered: new Map([...images.offered].filter(([reference]) => isFor(reference))),
  }
}

/**
 * Merges all copies with the same image id into one description, used before it is known where a session will run. The registry's own
 * description of that id comes first. Agents normally agree, because the id is a digest of the image. A differing agent must not affect
 * what others can start: the smallest value of each minimum is used, and the texts are those of the agent that joined first.
 */
export function describedBy(
  copies: readonly [AgentImage, ...AgentImage[]],
  offered: OfferedImage | undefined,
): AgentImage {
  const [first] = copies
  if (offered?.image.id === first.id) return { ...first, ...descriptionOf(offered.image) }
  const architectures = [...new Set(copies.flatMap(copy => copy.architecture ?? []))]
  const architecture = architectures.length === 1 ? architectures[0] : undefined
  const least = Object.entries(first.minimum).flatMap(([slot, amount]) => {
    const lowest = Math.min(amount, ...copies.map(copy => copy.minimum[slot] ?? 0))
    return lowest > 0 ? [[slot, lowest] as const] : []
  })
  return { ...first, architecture, minimum: Object.fromEntries(least) }
}

function descriptionOf({ title, description, minimum, shmemBytes, apps, labelled, architecture }: AgentImage) {
  return { title, description, minimum, shmemBytes, apps, labelled, architecture }
}

/** Effective minimum of an image under this name. */
export function minimumOf(image: AgentImage, reference: string, minimums: KnownImages['minimums']): ResourceSlots {
  return { ...(image.minimum as ResourceSlots), ...minimums.get(reference) }
}

/**
 * The registry of an image on an agent: the host in its name. A name without a host belongs to Docker Hub if the engine
 * pulled the image from there (null otherwise: somebody built the image on that machine, which only admins can do).
 */
export function registryOfHeld(
  reference: string,
  { repoDigests = [] }: Pick<AgentImage, 'repoDigests'>,
): string | null {
  const registry = registryOf(reference)
  if (registry !== DOCKER_HUB) return registry
  const repository = reference.replace(/:[^/:]+$/, '')
  return repoDigests.some(name => name.startsWith(`${repository}@`)) ? DOCKER_HUB : null
}

/** @param hub images of Docker Hub, filled only if Docker Hub is not allowed: some engines do not report which images came from it */
function allowedCopy(
  { agentId, image }: HeldImage,
  allowed: readonly string[],
  hub: ReadonlyMap<string, OfferedImage>,
): HeldImage[] {
  const references = image.references.filter(reference => {
    const registry = registryOfHeld(reference, image) ?? (isOffered(image, hub.get(reference)) ? DOCKER_HUB : null)
    return registry === null || allowed.includes(registry)
  })
  return references.length === 0 ? [] : [{ agentId, image: { ...image, references } }]
}

function toOffered(row: RegistryImageRow): OfferedImage {
  const { reference, registry, digest: id, labels } = row
  const image = {
    ...describeImage({ id, references: [reference], sizeBytes: row.size_bytes, labels }),
    architecture: row.architecture,
  }
  return { reference, registry, manifestDigest: row.manifest_digest, image }
}

/** Whether the image is the one that the registry offers: by image id, or by manifest for engines with other ids. */
export function isOffered(
  { id, repoDigests = [] }: Pick<AgentImage, 'id' | 'repoDigests'>,
  offered: OfferedImage | undefined,
): boolean {
  if (!offered) return false
  const { image, manifestDigest } = offered
  return [image.id, manifestDigest].includes(id) || repoDigests.some(name => name.endsWith(`@${manifestDigest}`))
}

/** Images as users see them: one entry per name and image on agents, then those that only registries have. Pure. */
export function toImages({ held, offered, minimums, domains, aliases }: KnownImages): Image[] {
  const byReference = Map.groupBy(aliases, ([, reference]) => reference)
  const aliasesOf = (reference: string) => (byReference.get(reference) ?? []).map(([alias]) => alias)
  const copies = [...Map.groupBy(held, ({ image }) => image.id).values()]
  const onAgents = copies.flatMap(same => {
    const agentIds = same.map(copy => copy.agentId)
    const [first, ...others] = same.map(copy => copy.image)
    if (!first) return []
    const references = [...new Set(same.flatMap(copy => copy.image.references))].toSorted()
    return references.map(reference => {
      const known = offered.get(reference)
      const image = describedBy([first, ...others], known)
      const pullable = isOffered(image, known)
      const registry = known?.registry ?? registryOfHeld(reference, image)
      return toImage(image, {
        reference,
        agentIds,
        registry,
        pullable,
        outdated: known !== undefined && !pullable,
        minimums,
        domains: domains.get(reference) ?? null,
        aliases: aliasesOf(reference),
      })
    })
  })
  const named = new Set(onAgents.map(image => image.reference))
  const elsewhere = [...offered.values()]
    .filter(({ reference }) => !named.has(reference))
    .map(({ image, reference, registry }) =>
      toImage(image, {
        reference,
        registry,
        agentIds: [],
        pullable: true,
        outdated: false,
        minimums,
        domains: domains.get(reference) ?? null,
        aliases: aliasesOf(reference),
      }),
    )
  const usual = commonest([...onAgents, ...elsewhere].flatMap(({ architecture }) => architecture ?? []))
  return [...onAgents, ...elsewhere].map(({ architecture, ...image }) =>
    architecture === undefined || architecture === usual ? image : { ...image, architecture },
  )
}

/** The most frequent word; of equally frequent ones, the first in alphabetical order. */
function commonest(words: readonly string[]): string | undefined {
  const counts = [...Map.groupBy(words, word => word)].map(([word, { length }]) => ({ word, length }))
  return counts.toSorted((a, b) => b.length - a.length || (a.word < b.word ? -1 : 1))[0]?.word
}

interface ImageFacts {
  readonly reference: string
  readonly agentIds: AgentId[]
  readonly registry: string | null
  readonly pullable: boolean
  readonly outdated: boolean
  readonly aliases: string[]
  readonly domains: readonly string[] | null
  readonly minimums: KnownImages['minimums']
}

function toImage(image: AgentImage, { minimums, domains, ...facts }: ImageFacts): Image {
  return {
    ...facts,
    domains: domains && [...domains],
    holders: facts.agentIds.length,
    digest: image.id,
    title: image.title,
    description: image.description,
    sizeBytes: image.sizeBytes,
    minimum: formatSlots(minimumOf(image, facts.reference, minimums)),
    labelMinimum: formatSlots(image.minimum),
    shmem: String(image.shmemBytes),
    apps: image.apps.map(toApp),
    labelled: image.labelled,
    ...defined({ architecture: image.architecture, volumes: image.volumes, madeBy: image.madeBy }),
  }
}
