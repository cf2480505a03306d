import { computed } from 'vue'
import { type FolderId } from '#manager/contract'
import { useServices } from '../../services.ts'
import { useFetched } from '../fetched.ts'

/** Fetches a folder of this person and keeps it current: hints report a new name, changed rights, or the end of sharing. */
export function useFolder(id: () => FolderId | '') {
  const { api } = useServices()
  const { value, error, again } = useFetched({
    key: () => id() || undefined,
    async fetch(key, signal) {
      const { items } = await api.listFolders({ signal })
      return { folder: items.find(item => item.id === key) ?? null }
    },
    topics: ['folder'],
    concerns: hint => hint.id === id() || hint.id === 'all',
  })
  return {
    /** Null before the answer, and if there is no such folder. */
    folder: computed(() => value.value?.folder ?? null),
    /** True if the manager has answered that there is no such folder for this person. */
    isUnknown: computed(() => value.value?.folder === null && error.value === null),
    error,
    again,
  }
}
