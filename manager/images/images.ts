import {
  type AgentId,
  AppError,
  because,
  FIRST_AGENTS,
  type Image,
  type ImageChange,
  type ImageSort,
  lackingSlots,
  meaningsOf,
  messageOf,
  parseSlots,
  SLOTS,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { accessibleTo } from '../quotas/access.ts'
import { nextOffset, parseOffset } from '../offset-cursor.ts'
import { listAgentNames, listAgents } from '../store/agents/agents.ts'
import { findDomain, listDomains } from '../store/identity/domains.ts'
import { resolveImageAlias } from '../store/images/image-aliases.ts'
import { countHolders } from '../store/images/images.ts'
import { setImageDomains } from '../store/images/image-domains.ts'
import { setImageMinimum } from '../store/images/image-settings.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type Caller, isSuperadmin } from '../users/authorize.ts'
import { searchImages, sortImages } from './image-list.ts'
import { forDomain, type KnownImages, readImagesOn, readKnownImages, toImages } from './known-images.ts'

type Notice = ReturnType<typeof belowLabels>[number]

export interface ImageQuery {
  /** Limits the list to images on this agent. */
  readonly agent?: AgentId | undefined
  readonly search?: string | undefined
  readonly sort?: ImageSort | undefined
  /** Undefined: all images. */
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Images that can be launched, and an admin's settings for them. */
export interface Images {
  /**
   * @throws AppError `forbidden` if the query names an agent and the caller is no superadmin, because only superadmins may know which agent
   *   has which image; `bad_request` for a wrong cursor
   */
  list(caller: Caller, query: ImageQuery): Promise<{ items: Image[]; nextCursor: string | null; total: number }>
  /** @throws AppError `image_not_found`, `domain_not_found` */
  change(caller: Caller, change: ImageChange): Promise<{ image: Image; notices: Notice[] }>
}

/**
 * Images that this caller may launch: all for superadmins; for others those of the registries that their domain may use, without
 * images that are for other domains.
 *
 * @param wanted name or alias of an image in a request; limits the result to the images that it may mean
 */
export async function imagesOf(db: Store['db'], caller: Caller, wanted?: string): Promise<KnownImages> {
  const allowed = isSuperadmin(caller) ? null : ((await findDomain(db, caller.domain)) ?? NOTHING).allowed_registries
  const named = wanted === undefined ? undefined : meaningsOf(await resolveImageAlias(db, wanted))
  const known = await readKnownImages(db, allowed, named)
  return isSuperadmin(caller) ? known : forDomain(known, caller.domain)
}

const NOTHING = { allowed_registries: [] }

/** The agents of the resource groups that the caller may use; undefined for a superadmin: all. */
async function agentsSeenBy(db: Db, caller: Caller): Promise<ReadonlySet<AgentId> | undefined> {
  const groups = await accessibleTo(db, caller)
  if (!groups) return undefined
  const agents = await listAgents(db)
  return new Set(agents.filter(agent => groups.has(agent.resource_group)).map(agent => agent.id))
}

export function createImages({ store, events }: { store: Store; events: EventPublisher }): Images {
  const { db } = store

  async function find(caller: Caller, reference: string): Promise<Image> {
    const all = toImages(await imagesOf(db, caller, reference)).filter(image => image.reference === reference)
    // The same name may mean different images on different agents, but the setting belongs to the name.
    const image = all.toSorted((a, b) => b.holders - a.holders)[0]
    if (image) return image
    throw new AppError('image_not_found', {
      image: reference,
      ...because('image_unknown_here', { image: reference }),
    })
  }

  /** @throws AppError `domain_not_found` */
  async function existingDomains(names: readonly string[]): Promise<readonly string[]> {
    const known = new Set((await listDomains(db)).map(({ name }) => name))
    const unknown = names.find(name => !known.has(name))
    if (unknown !== undefined) throw new AppError('domain_not_found', { domain: unknown })
    return names
  }

  async function imagesOn(caller: Caller, agent: AgentId): Promise<Image[]> {
    if (!isSuperadmin(caller)) throw new AppError('forbidden', because('only_superadmin'))
    const [known, holders] = await Promise.all([readImagesOn(db, agent), countHolders(db, agent)])
    return toImages(known).map(({ agentIds: _, ...image }) => ({ ...image, holders: holders.get(image.digest) ?? 1 }))
  }

  async function imagesSeenBy(caller: Caller): Promise<Image[]> {
    const images = toImages(await imagesOf(db, caller))
    const seen = await agentsSeenBy(db, caller)
    if (!seen) return images
    return images.map(({ agentIds = [], domains: _, ...image }) => ({
      ...image,
      holders: agentIds.filter(id => seen.has(id)).length,
    }))
  }

  /** Adds the names of agents if the images have the agents' ids, which only superadmins see. */
  async function withAgentNames(images: readonly Image[]): Promise<Image[]> {
    const firstOf = ({ agentIds = [] }: Image) => agentIds.slice(0, FIRST_AGENTS)
    const names = await listAgentNames(db, [...new Set(images.flatMap(firstOf))])
    return images.map(image =>
      image.agentIds ? { ...image, firstAgents: firstOf(image).map(id => names.get(id) ?? id) } : image,
    )
  }

  return {
    async list(caller, { agent, search, sort, limit, cursor }) {
      const all = await (agent === undefined ? imagesSeenBy(caller) : imagesOn(caller, agent))
      const found = sortImages(searchImages(all, search), sort)
      const start = parseOffset(cursor)
      const items = found.slice(start, limit && start + limit)
      const nextCursor = nextOffset({ start, count: items.length, total: found.length })
      return { items: await withAgentNames(items), nextCursor, total: found.length }
    },

    async change(caller, { reference: wanted, minimum, domains }) {
      const reference = await resolveImageAlias(db, wanted)
      const { labelMinimum } = await find(caller, reference)
      if (minimum !== undefined) await setImageMinimum(db, reference, minimum && parseSlots(minimum))
      if (domains !== undefined) await setImageDomains(db, reference, domains && (await existingDomains(domains)))
      // The event omits the name, because not everybody may know that the image exists.
      events.publish({ topic: 'image', id: 'all', version: store.now() }, 'everyone')
      const image = await find(caller, reference)
      const notices = minimum === undefined ? [] : belowLabels(parseSlots(labelMinimum), parseSlots(image.minimum))
      return { image, notices }
    },
  }
}

/** Warning about a minimum below the labels, whose values come from trials; as in the Backend.AI guide. */
function belowLabels(labels: ReturnType<typeof parseSlots>, minimum: ReturnType<typeof parseSlots>) {
  const names = lackingSlots(labels, minimum)
  if (names.length === 0) return []
  const slots = names.map(slot => SLOTS[slot].label).join(', ')
  return [messageOf('below_label_minimum', because('minimum_below_label', { slots }))]
}
