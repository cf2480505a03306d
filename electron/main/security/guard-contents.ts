import { type BrowserWindowConstructorOptions } from 'electron'
import { type ContentsSlice, type ElectronSlice, type WindowSlice } from '../electron-slice.ts'
import { isConsolePage, isQuestionUrl } from './console-origin.ts'
import { type Links } from './open-links.ts'
import { PAGE_WINDOW_PREFERENCES } from './web-preferences.ts'

export interface GuardDeps {
  readonly links: Links
  readonly preload: string
  /** Windows that our page opens: their options, and a callback for a new one. */
  readonly pageWindows: {
    readonly options: () => BrowserWindowConstructorOptions
    readonly opened: (window: WindowSlice) => void
  }
  readonly log: { warn(detail: object, message: string): void }
}

/**
 * Keeps a window on our page. The page shows text from containers, so every way out is blocked unless named here: navigation to
 * any other page, embedding, and new windows. External links open in the user's browser, once the user has seen where they lead.
 */
export function guardContents(contents: ContentsSlice, { links, preload, pageWindows, log }: GuardDeps): void {
  const stay = (event: { preventDefault(): void }, url: string) => {
    const here = contents.getURL()
    // A question window sends its form to its own address, and navigates nowhere else.
    if (isQuestionUrl(here) ? url === here : isConsolePage(url)) return
    event.preventDefault()
    log.warn({ url }, 'navigation refused')
  }
  contents.on('will-navigate', stay)
  contents.on('will-redirect', stay)
  // Frames within the page: it has none, and its policy allows none.
  contents.on('will-frame-navigate', event => {
    if (event.isMainFrame === false) event.preventDefault()
  })
  contents.on('will-attach-webview', event => event.preventDefault())
  contents.on('did-create-window', window => pageWindows.opened(window))
  contents.setWindowOpenHandler(({ url }) => {
    if (isConsolePage(url) && !isQuestionUrl(contents.getURL())) {
      return {
        action: 'allow',
        // A terminal window stays when the console window that opened it is closed.
        outlivesOpener: true,
        overrideBrowserWindowOptions: {
          ...pageWindows.options(),
          webPreferences: { ...PAGE_WINDOW_PREFERENCES, preload },
        },
      }
    }
    links.open(url, 'text').catch((error: unknown) => log.warn({ url, err: error }, 'window refused'))
    return { action: 'deny' }
  })
}

/** Denies camera, location, notifications and devices. Our own page may write (never read) the clipboard. */
export function denyPermissions({ session }: Pick<ElectronSlice, 'session'>): void {
  const isAllowed = (permission: string, url: string) =>
    permission === 'clipboard-sanitized-write' && isConsolePage(url)
  session.defaultSession.setPermissionRequestHandler((_contents, permission, answer, details) =>
    answer(isAllowed(permission, details.requestingUrl)),
  )
  session.defaultSession.setPermissionCheckHandler((contents, permission, _origin, details) =>
    isAllowed(permission, details.requestingUrl ?? contents?.getURL() ?? ''),
  )
  session.defaultSession.setDevicePermissionHandler(() => false)
}
