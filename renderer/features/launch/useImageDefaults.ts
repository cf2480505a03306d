import { shallowRef } from 'vue'
import { type ImageDefaults, type ImageDefaultsSpec } from '#manager/contract'
import { useServices } from '../../services.ts'

/** The user's own defaults for images. Null until they are loaded. */
export function useImageDefaults() {
  const { api } = useServices()
  const defaults = shallowRef<readonly ImageDefaults[] | null>(null)

  async function load(): Promise<void> {
    defaults.value = (await api.listImageDefaults()).items
  }
  /** Stores the defaults, in place of those that the image has. */
  async function put(body: ImageDefaultsSpec): Promise<void> {
    await api.putImageDefaults({ body })
    await load()
  }
  async function remove(image: string): Promise<void> {
    await api.deleteImageDefaults({ query: { image } })
    await load()
  }
  return { defaults, load, put, remove }
}
