import { onMounted, shallowRef, type ShallowRef } from 'vue'
import { type AuthOptions } from '#manager/contract'
import { useServices } from '../../services.ts'

/** Options of this Berth for people who are not signed in; null until known, and when the request fails. */
export function useAuthOptions(): ShallowRef<AuthOptions | null> {
  const { api } = useServices()
  const options = shallowRef<AuthOptions | null>(null)
  onMounted(async () => {
    options.value = await api.authOptions().catch(() => null)
  })
  return options
}
