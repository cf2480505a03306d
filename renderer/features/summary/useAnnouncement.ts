import { onScopeDispose, shallowRef } from 'vue'
import { type Announcement } from '#manager/contract'
import { useServices } from '../../services.ts'

/** The announcement of the administrators, kept current by event hints; null until it is known, and while there is none. */
export function useAnnouncement() {
  const { api, events } = useServices()
  const announcement = shallowRef<(Announcement & { text: string }) | null>(null)
  let round = 0

  async function load(): Promise<void> {
    const asked = ++round
    // The page works without an announcement. A failure of the manager is shown by the parts that need its answers.
    const answer = await api.getAnnouncement().catch(() => null)
    if (asked !== round || !answer) return
    announcement.value = answer.text === null ? null : { ...answer, text: answer.text }
  }

  const stops = [
    events.onHint(({ topic }) => {
      if (topic === 'announcement') void load()
    }),
    events.onResync(() => void load()),
  ]
  onScopeDispose(() => stops.forEach(stop => stop()))
  void load()
  return announcement
}
