import { shallowRef } from 'vue'
import { type SessionSpec, type SessionTemplate } from '#manager/contract'
import { useServices } from '../../services.ts'

/** The templates of the user. Null until they are loaded. */
export function useTemplates() {
  const { api } = useServices()
  const templates = shallowRef<readonly SessionTemplate[] | null>(null)

  async function load(): Promise<void> {
    templates.value = (await api.listSessionTemplates()).items
  }
  /** Stores the request under the name, in place of the template that has it. */
  async function save(name: string, body: SessionSpec): Promise<void> {
    await api.saveSessionTemplate({ params: { name }, body })
    await load()
  }
  async function remove(name: string): Promise<void> {
    await api.deleteSessionTemplate({ params: { name } })
    await load()
  }
  /** Lets the launch dialog begin with this template, or no longer. */
  async function setDefault(name: string, isDefault: boolean): Promise<void> {
    await api.setDefaultSessionTemplate({ params: { name }, body: { isDefault } })
    await load()
  }
  return { templates, load, save, remove, setDefault }
}
