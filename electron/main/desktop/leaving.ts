import { type Connector } from '../server/connector.ts'
import { watchSystemEnd } from '../system/system-end.ts'
import { type AppStatusKeeper } from '../windows/app-status.ts'
import { type ConsoleWindows } from '../windows/console-windows.ts'
import { createLeave, type Leave } from '../windows/leave.ts'
import { type AppTray } from '../windows/tray.ts'
import { type DesktopDeps, type OnUnexpected } from './desktop-deps.ts'
import { type PageWork } from './page-work.ts'

interface Parts {
  readonly windows: ConsoleWindows
  readonly connector: Connector
  readonly work: PageWork
  readonly status: AppStatusKeeper
  readonly tray: AppTray
  readonly onUnexpected: OnUnexpected
}

/** The end of the app, and everything that may ask for it: the user, the last window, the system. */
export function createLeaving(deps: DesktopDeps, parts: Parts): Leave {
  const { electron, questions, language, settings } = deps
  const { windows, connector, work, status, tray, onUnexpected } = parts
  const { app } = electron
  const leave = createLeave({
    electron,
    questions,
    language,
    windows,
    running: async () => (await connector.known?.running()) ?? { tunnels: 0, connections: 0, stack: false },
    pageWork: () => status.work,
    onUnexpected,
    async end() {
      windows.keepState()
      work.terminals.closeAll()
      // Close drives before the connections that they use.
      await deps.programs.close().catch((error: unknown) => onUnexpected('drives', error))
      await work.draggedFiles.forget().catch((error: unknown) => onUnexpected('dragged files', error))
      // A stack that is still starting ends by itself when it loses its channel to us.
      const { known } = connector
      if (known)
        await Promise.resolve(known[Symbol.asyncDispose]()).catch((error: unknown) => onUnexpected('stop', error))
      tray.destroy()
      deps.updates[Symbol.dispose]()
      await settings.saved()
    },
  })
  watchSystemEnd({ electron, process: deps.process, platform: process.platform, end: () => void leave.end() })
  app.on('before-quit', event => {
    // Sent by macOS when it shuts down: the shutdown stops if Berth does not agree.
    if (leave.isEnding && process.platform === 'darwin') return
    event.preventDefault()
    void leave.ask()
  })
  app.on('window-all-closed', () => {
    if (settings.current.keepInBackground) windows.hide()
    else if (process.platform !== 'darwin') app.quit()
  })
  return leave
}
