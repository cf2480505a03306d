import { useNotifications } from '../../ui/useNotifications.ts'
import { type ShownAnnouncement, useAnnouncement } from './useAnnouncement.ts'

/** Dismisses an announcement by a button; a failure is told. */
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
