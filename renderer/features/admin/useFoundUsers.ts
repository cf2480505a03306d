import { useServices } from '../../services.ts'
import { FOUND, useFound } from './useFound.ts'

/** The first active users that match what is typed into a field: see `useFound`. */
export function useFoundUsers(failed: (error: unknown) => void, isWanted = true) {
  const { api } = useServices()
  const { search, found: users } = useFound(
    async (text, signal) =>
      (await api.listUsers({ query: { active: 'true', limit: FOUND, search: text || undefined }, signal })).items,
    failed,
    isWanted,
  )
  return { search, users }
}
