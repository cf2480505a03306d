import { type ElectronSlice } from '../electron-slice.ts'

export interface SystemEndDeps {
  readonly electron: Pick<ElectronSlice, 'app' | 'powerMonitor'>
  readonly process: Pick<NodeJS.EventEmitter, 'on'>
  readonly platform: NodeJS.Platform
  /** Ends the app in order, without a question. */
  readonly end: () => void
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * The end of the user's work at this computer: it shuts down, the user signs out, or somebody ends the process. Nobody is there to answer a
 * question, and an app that does not end within seconds is killed, which leaves keys of sessions behind. Call this when Electron is ready:
 * Electron replaces earlier listeners for signals.
 */
export function watchSystemEnd({ electron: { app, powerMonitor }, process, platform, end }: SystemEndDeps): void {
  for (const signal of SIGNALS) process.on(signal, end)
  powerMonitor.on('shutdown', event => {
    // Linux then waits a little. On macOS this would cancel the shutdown.
    if (platform === 'linux') event?.preventDefault()
    end()
  })
  // Windows notifies each window.
  app.on('browser-window-created', (_event, window) => void window.on('session-end', end))
}
