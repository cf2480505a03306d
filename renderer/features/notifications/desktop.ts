import { type DesktopNotice } from '#proxy/contract'
import { visibleMarks } from '../../ui/visible-marks.ts'

const KEY = 'berth.desktop-notices'

export type DesktopState = 'missing' | 'denied' | 'off' | 'on'

/** Shows a notification through the desktop app; undefined in a browser, which shows its own. */
type AppNotify = ((notice: DesktopNotice) => Promise<void>) | undefined

/**
 * Notifications of the desktop. In a browser they are off until the person switches them on; in the desktop app on until switched off. The
 * choice is kept on this computer.
 *
 * @param isInFront whether the person is looking at the console and needs no notification
 */
export function desktopNotices(appNotify: AppNotify, isInFront = () => Promise.resolve(document.hasFocus())) {
  const chosen = () => globalThis.localStorage.getItem(KEY)

  function state(): DesktopState {
    if (appNotify) return chosen() === 'off' ? 'off' : 'on'
    if (!('Notification' in globalThis)) return 'missing'
    if (Notification.permission === 'denied') return 'denied'
    return Notification.permission === 'granted' && chosen() === 'on' ? 'on' : 'off'
  }

  return {
    state,
    /** Switches them on or off; a browser asks the person for its permission. */
    async set(isOn: boolean): Promise<DesktopState> {
      globalThis.localStorage.setItem(KEY, isOn ? 'on' : 'off')
      if (isOn && state() === 'off') await Notification.requestPermission()
      return state()
    },
    /** Shows a notification, unless the console is in front. @param id of the event: several tabs show it once */
    async show(id: string, text: string, to: string): Promise<void> {
      if (state() !== 'on' || (await isInFront())) return
      if (appNotify) {
        // Messages of administrators may be long; a notification shows a few lines.
        await appNotify({ text: visibleMarks(text.slice(0, 500)), to })
        return
      }
      const shown = new Notification('Berth', { body: visibleMarks(text), tag: id })
      shown.onclick = () => {
        window.focus()
        globalThis.location.hash = to
        shown.close()
      }
    },
  }
}
