import { type AgentImage } from '#agent/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { HOME } from '../docker/container-config.ts'
import { readImage } from './image-labels.ts'
import { inspectImage } from './pull.ts'

const MOST_VOLUMES = 100
const ARCHITECTURE = /^[a-z0-9]{1,32}$/

type Inspected = Pick<AgentImage, 'volumes' | 'architecture'>

export interface ImageCatalog {
  /** Images at the last refresh. */
  readonly images: readonly AgentImage[]
  refresh(): Promise<void>
}

/** Images on the engine from which sessions can be started. */
export function createImageCatalog(engine: EngineClient, onChange: () => void): ImageCatalog {
  let images: readonly AgentImage[] = []
  let known = '[]'
  /** Details that the engine's list does not have, for each image of the last refresh. */
  let inspected = new Map<string, Inspected>()

  /** An image that disappears meanwhile, or cannot be inspected, is listed without details, and inspected again later. */
  async function inspect(id: string): Promise<Inspected | undefined> {
    const seen = inspected.get(id)
    if (seen) return seen
    const image = await inspectImage(engine, id).catch(() => undefined)
    if (!image) return undefined
    const volumes = image.volumes.filter(path => path !== HOME && !path.startsWith(`${HOME}/`)).slice(0, MOST_VOLUMES)
    return {
      ...(volumes.length > 0 ? { volumes } : {}),
      ...(ARCHITECTURE.test(image.architecture) ? { architecture: image.architecture } : {}),
    }
  }

  return {
    get images() {
      return images
    },
    async refresh() {
      const found = (await engine.calls.listImages()).flatMap(image => readImage(image) ?? [])
      const now = new Map<string, Inspected>()
      const described: AgentImage[] = []
      for (const image of found) {
        const parts = await inspect(image.id)
        if (parts) now.set(image.id, parts)
        described.push({ ...image, ...parts })
      }
      inspected = now
      const sorted = described.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      const text = JSON.stringify(sorted)
      if (text === known) return
      known = text
      images = sorted
      onChange()
    },
  }
}
