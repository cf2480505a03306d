import { openAppWindow } from './app-window.ts'
import { openBrowser } from './browser.ts'
import { openDesktop } from './desktop.ts'

/** In a window of its own, or, also where no program can show one, in the usual browser. */
export type Opened = 'window' | 'browser'

export interface ConsolePlace {
  readonly open: Opened
  /** Folder of Berth's program, where the desktop app is. */
  readonly root: string
  /** Profile of an app window, made if it is not there. */
  readonly profile: string
  /** Link with a ticket that works once. Other users of the computer read the arguments of a program, so none gets it there. */
  readonly signInUrl: string
  /** File URL of a page that only this user reads, and that leads to the link. */
  readonly signInPage: string
}

/**
 * Opens the console for the person at this computer: in the desktop app, else in an app window of an installed browser, else in the usual browser.
 *
 * @returns undefined if nothing could be opened; disposing of it closes an app window, which can show nothing but this console
 */
export async function openConsole(place: ConsolePlace): Promise<Disposable | undefined> {
  const { open, root, profile, signInUrl, signInPage } = place
  if (open === 'window') {
    if (await openDesktop(root, signInUrl)) return STAYS
    const window = await openAppWindow(signInPage, profile)
    if (window) return window
  }
  return (await openBrowser(signInPage)) ? STAYS : undefined
}

/** The desktop app may show another server by now, and the usual browser belongs to the user. */
const STAYS: Disposable = { [Symbol.dispose]: () => undefined }
