import { type DesktopNotice } from '#proxy/contract'
import { type ElectronSlice, type NotificationSlice } from '../electron-slice.ts'

/** Shows notices of the system. A click opens their page. */
export function createNotifications(
  { Notification }: Pick<ElectronSlice, 'Notification'>,
  open: (to: string) => void,
): (notice: DesktopNotice) => void {
  /** Referenced until they are closed: a click on a garbage-collected notification is lost. */
  const kept = new Set<NotificationSlice>()
  return ({ text, to }) => {
    const shown = new Notification({ title: 'Berth', body: text })
    kept.add(shown)
    shown.on('click', () => open(to))
    shown.on('close', () => void kept.delete(shown))
    shown.show()
  }
}
