import { type AgentImage } from '#agent/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { readImage } from './image-labels.ts'

export interface ImageCatalog {
  /** Images at the last refresh. */
  readonly images: readonly AgentImage[]
  refresh(): Promise<void>
}

/** Images on the engine that sessions can be made of. */
export function createImageCatalog(engine: EngineClient, onChange: () => void): ImageCatalog {
  let images: readonly AgentImage[] = []
  let known = '[]'
  return {
    get images() {
      return images
    },
    async refresh() {
      const found = (await engine.calls.listImages()).flatMap(image => readImage(image) ?? [])
      const sorted = found.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      const text = JSON.stringify(sorted)
      if (text === known) return
      known = text
      images = sorted
      onChange()
    },
  }
}
