import { type SessionSpec } from '#manager/contract'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'

/** The templates of the user. Null until they are loaded. */
export function useTemplates() {
  const { api } = useServices()
  const {
    value: templates,
    error,
    again: load,
  } = useFetched({
    fetch: async (_, signal) => (await api.listSessionTemplates({ signal })).items,
    atOnce: false,
  })

  /** Stores the request under the name, replacing an existing template. */
  async function save(name: string, body: SessionSpec): Promise<void> {
    await api.saveSessionTemplate({ params: { name }, body })
    await load()
  }
  async function remove(name: string): Promise<void> {
    await api.deleteSessionTemplate({ params: { name } })
    await load()
  }
  /** Makes this the template with which the launch dialog begins, or not. */
  async function setDefault(name: string, isDefault: boolean): Promise<void> {
    await api.setDefaultSessionTemplate({ params: { name }, body: { isDefault } })
    await load()
  }
  return { templates, error, load, save, remove, setDefault }
}
