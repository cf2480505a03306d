import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'

/** Options of this Berth for people who are not signed in; null until known, and while the request fails. */
export function useAuthOptions() {
  const { api } = useServices()
  return useFetched({ fetch: (_, signal) => api.authOptions({ signal }) }).value
}
