import { createConsoleWindows, type ConsoleWindows } from '../windows/console-windows.ts'
import { createPageWindows, type PageWindows } from '../windows/page-windows.ts'
import { WINDOW_ICON } from '../windows/window-icon.ts'
import { windowAppearance } from '../windows/window-appearance.ts'
import { type DesktopDeps, type OnUnexpected } from './desktop-deps.ts'

export interface Windows {
  readonly windows: ConsoleWindows
  readonly pageWindows: PageWindows
}

/** The windows of the app, with the places and sizes that the settings remember. None is open yet. */
export function createWindows(
  { electron, preload, settings }: Pick<DesktopDeps, 'electron' | 'preload' | 'settings'>,
  onUnexpected: OnUnexpected,
): Windows {
  const icon = process.platform === 'linux' ? electron.nativeImage.createFromDataURL(WINDOW_ICON) : undefined
  const appearance = () => windowAppearance(electron, icon)
  const keep = (change: Parameters<typeof settings.update>[0]) =>
    void settings.update(change).catch((error: unknown) => onUnexpected('settings', error))
  const pageWindows = createPageWindows({
    appearance,
    remembered: () => settings.current.pageWindow,
    remember: pageWindow => keep({ pageWindow }),
    zoomLevel: () => windows.zoomLevel(),
  })
  const windows: ConsoleWindows = createConsoleWindows({
    electron,
    preload,
    appearance,
    pageWindows,
    remembered: () => settings.current.window,
    remember: window => keep({ window }),
  })
  return { windows, pageWindows }
}
