import { type AgentCleanUp, type CleanUpSpec, type RemovalSpec, failureText } from '#manager/contract'
import { type RequestInput, type UnusedImage } from '#agent/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type AgentRow } from '../store/agents/agents.ts'
import { resolveImageAlias } from '../store/images/image-aliases.ts'
import { listHeldImages, listImagesInUse } from '../store/images/images.ts'
import { type Store } from '../store/open-store.ts'
import { listRegistries } from '../store/images/registries.ts'
import { chooseUnused, type CleanUpChoice, onlyListed } from './choose-unused.ts'
import { chosenAgents } from './chosen-agents.ts'
import { readKnownImages } from './known-images.ts'

/**
 * Removes images from agents. Images of live sessions are left out here. An agent itself keeps images that a container uses, and the
 * toolbox, whatever is requested. A failing agent does not stop the clean-up of others.
 */
export interface ImageCleanUp {
  cleanUp(spec: CleanUpSpec): Promise<AgentCleanUp[]>
  /** Removes one name; without `agentIds` and `resourceGroup`, on all agents that hold it. */
  remove(spec: RemovalSpec): Promise<AgentCleanUp[]>
}

const LIST_TIMEOUT_MS = 120_000
const REMOVE_TIMEOUT_MS = 10 * 60_000

export function createImageCleanUp({ store, agents }: { store: Store; agents: AgentRequests }): ImageCleanUp {
  const { db } = store

  async function onEach(
    rows: readonly AgentRow[],
    work: (row: AgentRow) => Promise<Pick<AgentCleanUp, 'images' | 'kept' | 'freedBytes'>>,
  ): Promise<AgentCleanUp[]> {
    return Promise.all(
      rows.map(async row => {
        const of = { agentId: row.id, agentName: row.name }
        try {
          return { ...of, ...(await work(row)), error: null }
        } catch (error) {
          return { ...of, images: [], kept: [], freedBytes: 0, error: failureText(error) }
        }
      }),
    )
  }

  async function choose(row: AgentRow, { includeLocal }: Pick<CleanUpSpec, 'includeLocal'>): Promise<CleanUpChoice> {
    const { images } = await agents.request(row.id, 'list_unused_images', {}, { timeoutMs: LIST_TIMEOUT_MS })
    const [known, registries, inUse] = [
      await readKnownImages(db, null),
      await listRegistries(db),
      await listImagesInUse(db),
    ]
    return chooseUnused(images, {
      agentId: row.id,
      inUse,
      registries: new Set(registries.map(({ name }) => name)),
      offered: known.offered,
      includeLocal,
    })
  }

  async function removeAll(row: AgentRow, images: RequestInput<'remove_images'>['images']) {
    const input = { images }
    return agents.request(row.id, 'remove_images', input, { timeoutMs: REMOVE_TIMEOUT_MS })
  }

  return {
    async cleanUp({ dryRun, includeLocal, listed, ...where }) {
      const listedOn = (row: AgentRow) => listed?.find(({ agentId }) => agentId === row.id)?.images
      const rows = await chosenAgents(db, where)
      return onEach(dryRun ? rows : rows.filter(listedOn), async row => {
        const choice = await choose(row, { includeLocal })
        const { remove, kept } = dryRun ? choice : onlyListed(choice, listedOn(row) ?? [])
        const left = kept.map(({ image, why }) => ({ digest: image.id, references: image.references, why }))
        if (dryRun || remove.length === 0) {
          const freedBytes = remove.reduce((sum, image) => sum + image.uniqueBytes, 0)
          return { images: remove.map(toView), kept: left, freedBytes }
        }
        const reply = await removeAll(
          row,
          remove.map(({ id, references }) => ({ id, listed: references })),
        )
        const gone = new Set(reply.removed.map(({ id }) => id))
        const stayed = reply.kept.map(({ id, why }) => {
          return { digest: id, references: remove.find(image => image.id === id)?.references ?? [], why }
        })
        const images = remove.filter(({ id }) => gone.has(id)).map(toView)
        return { images, kept: [...left, ...stayed], freedBytes: reply.freedBytes }
      })
    },

    async remove({ reference: wanted, ...where }) {
      const reference = await resolveImageAlias(db, wanted)
      const everywhere = where.agentIds === undefined && where.resourceGroup === undefined
      const [held, inUse] = [await listHeldImages(db), await listImagesInUse(db)]
      const copyOn = (row: AgentRow) =>
        held.find(copy => copy.agentId === row.id && copy.image.references.includes(reference))?.image
      const rows = await chosenAgents(db, where)
      return onEach(everywhere ? rows.filter(copyOn) : rows, async row => {
        const image = copyOn(row)
        const nothing = (why: string) => {
          return { images: [], kept: [{ digest: image?.id ?? '', references: [reference], why }], freedBytes: 0 }
        }
        if (!image) return nothing('The image is not on this agent.')
        const used = inUse.some(one => (one.agentId === row.id || one.agentId === null) && one.digest === image.id)
        if (used) return nothing('A live session uses this image.')
        const { removed, kept, freedBytes } = await removeAll(row, [{ id: image.id, reference }])
        if (removed.length === 0) return { ...nothing(kept[0]?.why ?? 'The image was kept.'), freedBytes }
        const { id: digest, sizeBytes } = image
        return {
          images: [{ digest, references: [reference], sizeBytes, uniqueBytes: freedBytes }],
          kept: [],
          freedBytes,
        }
      })
    },
  }
}

function toView({ id, references, sizeBytes, uniqueBytes }: UnusedImage): AgentCleanUp['images'][number] {
  return { digest: id, references, sizeBytes, uniqueBytes }
}
