import { type WindowSlice } from '../electron-slice.ts'
import { type DesktopSettings } from '../settings/settings-file.ts'

/** Size of the windows that a page opens, such as terminals: that of the last one that was closed. */
export interface PageWindows {
  size(): { readonly width: number; readonly height: number }
  /** Remembers the size of this window at its end. */
  follow(window: WindowSlice): void
}

const FIRST = { width: 960, height: 640 }

export function createPageWindows(deps: {
  readonly remembered: () => DesktopSettings['pageWindow']
  readonly remember: (size: { width: number; height: number }) => void
}): PageWindows {
  return {
    size: () => deps.remembered() ?? FIRST,
    follow(window) {
      window.on('close', () => {
        // Without the place: several such windows would lie exactly upon each other.
        const { width, height } = window.getNormalBounds()
        deps.remember({ width, height })
      })
    },
  }
}
