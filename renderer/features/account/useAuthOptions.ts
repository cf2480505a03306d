import { onMounted, shallowRef, type ShallowRef } from 'vue'
import { type AuthOptions } from '#manager/contract'
import { useServices } from '../../services.ts'

/** What this Berth offers to whoever is not signed in; null until known, and where it does not say. */
export function useAuthOptions(): ShallowRef<AuthOptions | null> {
  const { api } = useServices()
  const options = shallowRef<AuthOptions | null>(null)
  onMounted(async () => {
    options.value = await api.authOptions().catch(() => null)
  })
  return options
}
