import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import { type ScopeUsage } from '#manager/contract'
import { useServices } from '../../services.ts'

/** Limits and use of the signed-in person, their projects and their domain. Kept current by event hints. */
export const useUsage = defineStore('usage', () => {
  const { api, events } = useServices()
  const scopes = ref<ScopeUsage[] | null>(null)
  const error = ref<unknown>(null)
  /** The person's own scope: all of their sessions together. */
  const mine = computed(() => scopes.value?.find(({ kind }) => kind === 'user'))
  let refreshing: ReturnType<typeof setTimeout> | undefined
  let round = 0

  async function load(): Promise<void> {
    const asked = ++round
    try {
      const { items } = await api.getUsage({ query: {} })
      if (asked !== round) return
      scopes.value = items
      error.value = null
    } catch (cause) {
      if (asked === round) error.value = cause
    }
  }

  events.onHint(({ topic }) => {
    if (!scopes.value || (topic !== 'session' && topic !== 'resources')) return
    // Gather hints for 400 ms: a launch of many sessions causes one request, not many.
    refreshing ??= setTimeout(() => {
      refreshing = undefined
      if (scopes.value) void load()
    }, 400)
  })
  events.onResync(() => {
    if (scopes.value) void load()
  })

  return { scopes, mine, error, load }
})
