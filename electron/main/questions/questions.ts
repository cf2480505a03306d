import type { MessageBoxOptions, OpenDialogOptions } from 'electron'
import { type ElectronSlice, type ParentWindow } from '../electron-slice.ts'

export interface Answer {
  readonly response: number
  readonly checkboxChecked: boolean
}

export type Ask = (options: MessageBoxOptions) => Promise<Answer>

export interface Questions {
  /** Asks in front of the focused window, else of one that is open. */
  readonly ask: Ask
  /** Lets the user choose files. @returns none if the user cancels */
  readonly chooseFiles: (options: OpenDialogOptions) => Promise<readonly string[]>
  /** Brings the newest open question to the front, because somebody has asked again for its subject. */
  readonly raise: () => void
}

/**
 * All questions of the app in windows of the operating system. A question without a parent has no entry in the task bar and falls behind
 * the console with the next click, where nobody finds it again; a lint rule keeps other files from `dialog.showMessageBox`.
 */
export function createQuestions({ dialog, BrowserWindow }: Pick<ElectronSlice, 'dialog' | 'BrowserWindow'>): Questions {
  const parents: ParentWindow[] = []

  /** Undefined only before the first window. A question in front of a hidden window would not be seen. */
  function parent(): ParentWindow | undefined {
    const windows = BrowserWindow.getAllWindows()
    const found = BrowserWindow.getFocusedWindow() ?? windows.find(window => window.isVisible()) ?? windows[0]
    if (found) toFront(found)
    return found
  }

  async function over<T>(show: (window: ParentWindow | undefined) => Promise<T>): Promise<T> {
    const window = parent()
    if (window) parents.push(window)
    try {
      return await show(window)
    } finally {
      if (window) parents.splice(parents.lastIndexOf(window), 1)
    }
  }

  return {
    ask: options => over(window => (window ? dialog.showMessageBox(window, options) : dialog.showMessageBox(options))),
    chooseFiles: options =>
      over(async window => {
        const chosen = await (window ? dialog.showOpenDialog(window, options) : dialog.showOpenDialog(options))
        return chosen.canceled ? [] : chosen.filePaths
      }),
    raise() {
      const newest = parents.at(-1)
      if (newest) toFront(newest)
    },
  }
}

/** Window managers keep a question above its parent. */
function toFront(window: ParentWindow): void {
  if (window.isDestroyed()) return
  if (window.isMinimized()) window.restore()
  window.show()
  window.focus()
}
