import { type ImageInfo } from 'dockerode'
import { z } from 'zod'
import { isLabelled, type RequestInput, type RequestReply, type UnusedImage } from '#agent/contract'
import {
  type EngineClient,
  engineMessage,
  fromEngine,
  isEngineUnreachable,
  isMissing,
  statusOf,
} from '../docker/engine-client.ts'
import { repoDigestsOf, tagsOf, TOOLBOX_REPOSITORY } from './image-labels.ts'

export interface UnusedImagesDeps {
  readonly engine: EngineClient
  /** Ids and names of images from which kernels are being created: they have no container yet. */
  readonly starting: () => ReadonlySet<string>
}

/**
 * Removes images from the engine. Whatever the request, it keeps the toolbox, images used by any container (running or not,
 * ours or not), and images from which a kernel is being created. It never forces a removal.
 */
export function createUnusedImages({ engine, starting }: UnusedImagesDeps) {
  async function list(): Promise<UnusedImage[]> {
    const [images, used] = await Promise.all([listWithSharedSizes(engine), usedImages(engine)])
    const busy = starting()
    return images.flatMap(image => {
      const references = tagsOf(image)
      const keep = used.has(image.Id) || isToolbox(references) || isBusy(busy, image.Id, references)
      return keep ? [] : [toUnused(image, references)]
    })
  }

  async function removeOne({ id, reference, listed }: Removal): Promise<string[]> {
    const found = await engine.calls.getImage(id).inspect()
    const tags = tagsOf(found)
    if (isToolbox(tags)) throw new Kept('Sessions need this image (toolbox).')
    if ((await usedImages(engine)).has(found.Id)) throw new Kept('A container uses this image.')
    if (isBusy(starting(), found.Id, tags)) throw new Kept('A session is being started with this image.')
    if (reference !== undefined && !tags.includes(reference))
      throw new Kept(`The image does not have the name ${reference} any more.`)
    const unlisted = listed && tags.find(tag => !listed.includes(tag))
    if (unlisted !== undefined) throw new Kept(`The image was named ${unlisted} after it was listed.`)
    const names = reference === undefined ? tags : [reference]
    for (const name of names) await engine.calls.getImage(name).remove({ force: false })
    if (names.length === 0) await engine.calls.getImage(found.Id).remove({ force: false })
    else if (names.length === tags.length) await removeNameless(found.Id)
    return names
  }

  /**
   * Removes an image that has lost its last name, if it still exists: containerd's image store keeps an image that was pulled by digest.
   * Other stores may keep it because other images are built from it.
   */
  async function removeNameless(id: string): Promise<void> {
    try {
      await engine.calls.getImage(id).remove({ force: false })
    } catch (error) {
      if (!isMissing(error) && statusOf(error) !== 409) throw error
    }
  }

  return {
    async list(): Promise<RequestReply<'list_unused_images'>> {
      try {
        return { images: await list() }
      } catch (error) {
        throw fromEngine(error, 'internal')
      }
    },

    async remove({ images }: RequestInput<'remove_images'>): Promise<RequestReply<'remove_images'>> {
      const removed: RequestReply<'remove_images'>['removed'] = []
      const kept: RequestReply<'remove_images'>['kept'] = []
      const before = await layersBytes(engine)
      for (const image of images) {
        try {
          removed.push({ id: image.id, references: await removeOne(image) })
        } catch (error) {
          if (isEngineUnreachable(error)) throw fromEngine(error, 'internal')
          const why = isMissing(error) ? 'The image is not on this host (any more).' : engineMessage(error)
          kept.push({ id: image.id, why })
        }
      }
      const after = await layersBytes(engine)
      return { removed, kept, freedBytes: Math.max(0, before - after) }
    },
  }
}

type Removal = RequestInput<'remove_images'>['images'][number]

class Kept extends Error {}

const isToolbox = (references: readonly string[]) =>
  references.some(reference => reference.startsWith(`${TOOLBOX_REPOSITORY}:`))

const isBusy = (busy: ReadonlySet<string>, id: string, references: readonly string[]) =>
  busy.has(id) || references.some(reference => busy.has(reference))

async function usedImages(engine: EngineClient): Promise<Set<string>> {
  return new Set((await engine.calls.listContainers({ all: true })).map(container => container.ImageID))
}

/** Images with the bytes that they share with others. Before API 1.42, the engine reports these only with its whole disk usage. */
async function listWithSharedSizes(engine: EngineClient): Promise<readonly ImageInfo[]> {
  const images = await engine.calls.listImages({ 'shared-size': true } as object)
  if (images.every(image => image.SharedSize >= 0)) return images
  const usage = (await engine.streams.df()) as { Images: ImageInfo[] | null }
  const shared = new Map((usage.Images ?? []).map(image => [image.Id, image.SharedSize]))
  return images.map(image => ({ ...image, SharedSize: shared.get(image.Id) ?? image.Size }))
}

async function layersBytes(engine: EngineClient): Promise<number> {
  return bytesOfLayers(DiskUsage.parse(await engine.streams.df()))
}

const DiskUsage = z.object({
  LayersSize: z.number().nullish(),
  ImageUsage: z.object({ TotalSize: z.number().nullish() }).nullish(),
})

/** Bytes of all layers in an answer of `/system/df`: `LayersSize`, in whose place API 1.52 and newer have `ImageUsage`. */
function bytesOfLayers({ LayersSize, ImageUsage }: z.infer<typeof DiskUsage>): number {
  return LayersSize ?? ImageUsage?.TotalSize ?? 0
}

function toUnused(image: ImageInfo, references: string[]): UnusedImage {
  // Null for images without labels, whatever the types say.
  const labels = (image.Labels as Record<string, string> | null) ?? {}
  return {
    id: image.Id,
    references: references.toSorted(),
    repoDigests: repoDigestsOf(image),
    sizeBytes: image.Size,
    uniqueBytes: Math.max(0, image.Size - Math.max(0, image.SharedSize)),
    labelled: isLabelled(labels),
  }
}
