import { type ImageDefaultsSpec } from '#manager/contract'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'

/** The user's own defaults for images. Null until they are loaded. */
export function useImageDefaults() {
  const { api } = useServices()
  const {
    value: defaults,
    error,
    again: load,
  } = useFetched({
    fetch: async (_, signal) => (await api.listImageDefaults({ signal })).items,
    atOnce: false,
  })

  /** Stores the defaults, replacing those of the image. */
  async function put(body: ImageDefaultsSpec): Promise<void> {
    await api.putImageDefaults({ body })
    await load()
  }
  async function remove(image: string): Promise<void> {
    await api.deleteImageDefaults({ query: { image } })
    await load()
  }
  return { defaults, error, load, put, remove }
}
