import { type WindowSlice } from '../electron-slice.ts'
import { type DesktopSettings } from '../settings/settings-file.ts'
import { showFirst } from './show-first.ts'
import { type WindowAppearance } from './window-appearance.ts'

/** Windows that a page opens, such as terminals: each gets the size of the last one that was closed. */
export interface PageWindows {
  /** Options of a new window. */
  options(): WindowAppearance & { readonly width: number; readonly height: number }
  /** Shows a new window once it has something to show, and remembers its size at its end. */
  opened(window: WindowSlice): void
}

const FIRST = { width: 960, height: 640 }

export function createPageWindows(deps: {
  readonly appearance: () => WindowAppearance
  readonly remembered: () => DesktopSettings['pageWindow']
  readonly remember: (size: { width: number; height: number }) => void
  /** Zoom of the console; a window of its own zoom (`PAGE_WINDOW_PREFERENCES`) would begin at 100 %. */
  readonly zoomLevel: () => number
}): PageWindows {
  return {
    options: () => ({ ...deps.appearance(), ...(deps.remembered() ?? FIRST) }),
    opened(window) {
      showFirst(window, () => {
        window.webContents.setZoomLevel(deps.zoomLevel())
        window.show()
      })
      window.on('close', () => {
        // Without the position: several such windows would cover each other exactly.
        const { width, height } = window.getNormalBounds()
        deps.remember({ width, height })
      })
    },
  }
}
