import { defineStore } from 'pinia'
import { ref } from 'vue'
import { type FolderInvitationId, type ReceivedFolderInvitation } from '#manager/contract'
import { useServices } from '../../services.ts'

/** Open invitations of the signed-in person to folders of others, kept current by event hints once they are loaded. */
export const useInvitations = defineStore('invitations', () => {
  const { api, events } = useServices()
  /** Null before the first answer. */
  const items = ref<readonly ReceivedFolderInvitation[] | null>(null)
  const error = ref<unknown>(null)
  let round = 0

  async function load(): Promise<void> {
    const asked = ++round
    try {
      const answer = await api.listFolderInvitations()
      if (asked !== round) return
      items.value = answer.items
      error.value = null
    } catch (cause) {
      if (asked === round) error.value = cause
    }
  }
  const again = () => {
    if (items.value !== null || error.value !== null) void load()
  }
  events.onHint(({ topic }) => {
    if (topic === 'folder') again()
  })
  events.onResync(again)

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
