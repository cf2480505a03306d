import { useNotifications } from '../../ui/useNotifications.ts'
import { type ShownAnnouncement, useAnnouncement } from './useAnnouncement.ts'

/** Dismisses an announcement for a button; shows a message if that fails. */
export function useDismissal(): (announcement: ShownAnnouncement) => Promise<void> {
  const store = useAnnouncement()
  const notifications = useNotifications()
  return async announcement => {
    try {
      await store.dismiss(announcement)
    } catch (error) {
      notifications.error(error)
    }
  }
}
