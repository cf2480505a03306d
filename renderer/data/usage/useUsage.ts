import { defineStore } from 'pinia'
import { computed } from 'vue'
import { useServices } from '../../services.ts'
import { useFetched } from '../fetched.ts'

/** Limits and use of the signed-in person, their projects and their domain. Kept current by event hints. */
export const useUsage = defineStore('usage', () => {
  const { api } = useServices()
  const {
    value: scopes,
    error,
    again: load,
  } = useFetched({
    fetch: async (_, signal) => (await api.getUsage({ query: {}, signal })).items,
    topics: ['session', 'resources'],
    atOnce: false,
  })
  /** The person's own scope: all of their sessions together. */
  const mine = computed(() => scopes.value?.find(({ kind }) => kind === 'user'))
  return { scopes, mine, error, load }
})
