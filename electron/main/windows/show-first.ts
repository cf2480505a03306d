import { type WindowSlice } from '../electron-slice.ts'

/** Time for the first frame after the page was loaded. */
const PAINT_MS = 300

/**
 * Shows a new window once, with its first frame if that comes: a window that is shown before flashes in the colour of its background. Some
 * Wayland compositors do not paint a hidden window, and a page that cannot be loaded has no frame: the window is shown all the same, after
 * a moment.
 */
export function showFirst(window: WindowSlice, show: () => void = () => window.show()): void {
  let isShown = false
  function once(): void {
    if (isShown || window.isDestroyed()) return
    isShown = true
    show()
  }
  const soon = () => void setTimeout(once, PAINT_MS).unref()
  window.once('ready-to-show', once)
  window.webContents.on('did-finish-load', soon)
  window.webContents.on('did-fail-load', soon)
}
