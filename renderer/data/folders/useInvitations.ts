import { defineStore } from 'pinia'
import { type FolderInvitationId } from '#manager/contract'
import { useServices } from '../../services.ts'
import { useFetched } from '../fetched.ts'

/** Open invitations of the signed-in person to folders of others, kept current by event hints once they are loaded. */
export const useInvitations = defineStore('invitations', () => {
  const { api } = useServices()
  const {
    value: items,
    error,
    again: load,
  } = useFetched({
    fetch: async (_, signal) => (await api.listFolderInvitations({ signal })).items,
    topics: ['folder'],
    atOnce: false,
  })

  /** @throws as the route */
  async function accept(id: FolderInvitationId): Promise<void> {
    await api.acceptFolderInvitation({ params: { id } })
    await load()
  }
  /** @throws as the route */
  async function decline(id: FolderInvitationId): Promise<void> {
    await api.declineFolderInvitation({ params: { id } })
    await load()
  }
  return { items, error, load, accept, decline }
})
