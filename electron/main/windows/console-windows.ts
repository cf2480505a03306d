import { type HostEvents, HOST_EVENT_CHANNEL } from '#proxy/contract'
import { type ElectronSlice, type WindowSlice } from '../electron-slice.ts'
import { CONSOLE_ORIGIN } from '../security/console-origin.ts'
import { PAGE_WINDOW_PREFERENCES, SECURE_WEB_PREFERENCES } from '../security/web-preferences.ts'
import { type PageWindows } from './page-windows.ts'
import { showFirst } from './show-first.ts'
import { type WindowAppearance } from './window-appearance.ts'

export interface ConsoleWindows {
  /** Shows the window, at the given route if any. */
  readonly show: (route?: string) => void
  readonly emit: <E extends keyof HostEvents>(event: E, payload: HostEvents[E]) => void
  /** Hides the console's window; if there is none, opens a hidden one at the route, whose page shows notifications and reports sessions. */
  hide(route?: string): void
  /** Saves the window's position; call it before the app exits, which closes no window. */
  keepState(): void
  /** Zoom of the console's window, or that of the last one. */
  zoomLevel(): number
  /** Loads the console's page again, if it is open. */
  reload(): void
  /** Opens another window at this route. */
  open(route: string): void
  /** Shows a progress bar at the window in the task bar; a negative fraction removes it. */
  setProgress(fraction: number, mode: 'normal' | 'paused'): void
  /** Registers one of our pages for events; call it for every page, including terminals in their own windows. */
  adopt(contents: Sender): void
}
type Sender = Pick<WindowSlice['webContents'], 'id' | 'send' | 'isDestroyed'> & {
  on(event: 'destroyed', listener: () => void): unknown
}

/** Position of the console's window when it was closed. */
export interface WindowState {
  readonly bounds: { readonly x: number; readonly y: number; readonly width: number; readonly height: number }
  readonly isMaximized: boolean
  readonly zoomLevel: number
}

export interface WindowDeps {
  readonly remembered: () => WindowState | null
  readonly remember: (state: WindowState) => void
  readonly electron: Pick<ElectronSlice, 'BrowserWindow'>
  readonly preload: string
  readonly appearance: () => WindowAppearance
  readonly pageWindows: PageWindows
}

/** The main window, and events to all pages. A page that reloads keeps its tunnels: they live in this process. */
export function createConsoleWindows(deps: WindowDeps): ConsoleWindows {
  const { electron, preload, appearance, pageWindows, remembered, remember } = deps
  const pages = new Map<number, Sender>()
  let main: WindowSlice | undefined

  const keep = (window: WindowSlice) =>
    remember({
      bounds: window.getNormalBounds(),
      isMaximized: window.isMaximized(),
      zoomLevel: window.webContents.getZoomLevel(),
    })

  const create = (route: string, isHidden = false): WindowSlice => {
    const before = remembered()
    const window = new electron.BrowserWindow({
      width: 1280,
      height: 840,
      // Electron moves a window onto an existing screen, e.g. after the second one was unplugged.
      ...before?.bounds,
      ...appearance(),
      webPreferences: { ...SECURE_WEB_PREFERENCES, preload },
    })
    if (before?.isMaximized) window.maximize()
    showFirst(window, () => {
      if (before) window.webContents.setZoomLevel(before.zoomLevel)
      if (!isHidden) window.show()
    })
    window.on('close', () => keep(window))
    window.once('closed', () => {
      if (main === window) main = undefined
    })
    void window.loadURL(urlOf(route))
    return window
  }

  return {
    show(route) {
      if (!main || main.isDestroyed()) {
        main = create(route ?? '/')
        return
      }
      if (main.isMinimized()) main.restore()
      main.show()
      main.focus()
      if (route !== undefined) void main.loadURL(urlOf(route))
    },
    keepState() {
      if (main && !main.isDestroyed()) keep(main)
    },
    hide(route) {
      if (main && !main.isDestroyed()) main.hide()
      else main = create(route ?? '/', true)
    },
    open(route) {
      const window = new electron.BrowserWindow({
        ...pageWindows.options(),
        webPreferences: { ...PAGE_WINDOW_PREFERENCES, preload },
      })
      pageWindows.opened(window)
      void window.loadURL(urlOf(route))
    },
    zoomLevel: () => (main && !main.isDestroyed() ? main.webContents.getZoomLevel() : (remembered()?.zoomLevel ?? 0)),
    reload() {
      if (main && !main.isDestroyed()) main.webContents.reload()
    },
    setProgress(fraction, mode) {
      if (main && !main.isDestroyed()) main.setProgressBar(fraction, { mode })
    },
    emit(event, payload) {
      for (const page of pages.values()) if (!page.isDestroyed()) page.send(HOST_EVENT_CHANNEL, event, payload)
    },
    adopt(contents) {
      pages.set(contents.id, contents)
      contents.on('destroyed', () => pages.delete(contents.id))
    },
  }
}

const urlOf = (route: string) => `${CONSOLE_ORIGIN}/#${route}`
