import { visibleMarks } from '../../ui/visible-marks.ts'
import { t } from '../../words/en/opening.ts'
/** A browser tab for an app whose address is not known yet. */
export interface AppTab {
  /** False if the browser refused to open the tab: show a link instead. */
  readonly open: boolean
  show(url: string): void
  close(): void
}

/**
 * Opens the tab of an app before its URL is known. Browsers open tabs only during a click, and an app may need longer than that
 * to start. So the tab opens at once with a text to wait, and is sent to the app later. Threat model: the app's code belongs to
 * the session, not to us, and could steer this page through `opener`; `show` removes `opener` first.
 */
export function openAppTab(window: Window, title: string): AppTab {
  const tab = window.open('', '_blank')
  if (!tab) return { open: false, show: () => undefined, close: () => undefined }
  const { document } = tab
  document.title = visibleMarks(t('startingTab', { app: title }))
  const words = document.createElement('p')
  words.textContent = document.title
  words.style.cssText =
    'font: 16px system-ui, sans-serif; display: grid; place-items: center; height: 90vh; color: GrayText'
  document.documentElement.style.colorScheme = 'light dark'
  document.body.append(words)
  return {
    open: true,
    show(url) {
      tab.opener = null
      tab.location.replace(url)
    },
    close: () => tab.close(),
  }
}
