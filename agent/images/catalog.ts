import { type AgentImage } from '#agent/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { HOME } from '../docker/container-config.ts'
import { readImage } from './image-labels.ts'
import { inspectImage } from './pull.ts'

const MOST_VOLUMES = 100

export interface ImageCatalog {
  /** Images at the last refresh. */
  readonly images: readonly AgentImage[]
  refresh(): Promise<void>
}

/** Images on the engine that sessions can be made of. */
export function createImageCatalog(engine: EngineClient, onChange: () => void): ImageCatalog {
  let images: readonly AgentImage[] = []
  let known = '[]'
  /** Volumes of each image that was there at the last refresh, which a list does not have. */
  let volumes = new Map<string, readonly string[]>()

  /** An image that goes meanwhile, or that cannot be looked at, is listed without volumes, and looked at again. */
  async function volumesOutside(id: string): Promise<readonly string[] | undefined> {
    const seen = volumes.get(id)
    if (seen) return seen
    const image = await inspectImage(engine, id).catch(() => undefined)
    return image?.volumes.filter(path => path !== HOME && !path.startsWith(`${HOME}/`)).slice(0, MOST_VOLUMES)
  }

  return {
    get images() {
      return images
    },
    async refresh() {
      const found = (await engine.calls.listImages()).flatMap(image => readImage(image) ?? [])
      const now = new Map<string, readonly string[]>()
      const described: AgentImage[] = []
      for (const image of found) {
        const outside = await volumesOutside(image.id)
        if (outside) now.set(image.id, outside)
        described.push(outside && outside.length > 0 ? { ...image, volumes: [...outside] } : image)
      }
      volumes = now
      const sorted = described.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      const text = JSON.stringify(sorted)
      if (text === known) return
      known = text
      images = sorted
      onChange()
    },
  }
}
