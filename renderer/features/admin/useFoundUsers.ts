import { ref, shallowRef, watch } from 'vue'
import { type User } from '#manager/contract'
import { useServices } from '../../services.ts'

const FOUND = 20
const PAUSE_MS = 250

/** The first active users that match what is typed into a field, for a choice among many. @param failed told of a search that failed */
export function useFoundUsers(failed: (error: unknown) => void) {
  const { api } = useServices()
  const search = ref('')
  const users = shallowRef<readonly User[]>([])

  async function find(): Promise<void> {
    try {
      const query = { active: 'true', limit: FOUND, search: search.value.trim() || undefined }
      users.value = (await api.listUsers({ query })).items
    } catch (error) {
      failed(error)
    }
  }
  let typing: ReturnType<typeof setTimeout> | undefined
  watch(search, () => {
    clearTimeout(typing)
    typing = setTimeout(() => void find(), PAUSE_MS)
  })
  return { search, users, find }
}
