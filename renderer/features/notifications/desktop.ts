const KEY = 'berth.desktop-notices'

export type DesktopState = 'missing' | 'denied' | 'off' | 'on'

/** Notifications of the desktop, off until the person switches them on. The choice is kept on this computer. */
export const desktopNotices = {
  state(): DesktopState {
    if (!('Notification' in globalThis)) return 'missing'
    if (Notification.permission === 'denied') return 'denied'
    return Notification.permission === 'granted' && globalThis.localStorage.getItem(KEY) === 'on' ? 'on' : 'off'
  },
  /** Switches them on or off; the browser asks the person for its permission. */
  async set(isOn: boolean): Promise<DesktopState> {
    globalThis.localStorage.setItem(KEY, isOn ? 'on' : 'off')
    if (isOn && this.state() === 'off') await Notification.requestPermission()
    return this.state()
  },
  /** Shows one, unless the page is in front. @param id of the event: several tabs show it once */
  show(id: string, text: string, to: string): void {
    if (this.state() !== 'on' || document.hasFocus()) return
    const shown = new Notification('Berth', { body: text, tag: id })
    shown.onclick = () => {
      window.focus()
      globalThis.location.hash = to
      shown.close()
    }
  },
}
