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
 * The end of the user's work at this computer: it shuts down, the user signs out, or somebody ends the process. Nobody is there to answer
 * a question, and what does not end in a few seconds is killed, which leaves keys of sessions behind. Call it when Electron is ready:
 * earlier listeners for signals are replaced by its own.
 */
export function watchSystemEnd({ electron: { app, powerMonitor }, process, platform, end }: SystemEndDeps): void {
  for (const signal of SIGNALS) process.on(signal, end)
  powerMonitor.on('shutdown', event => {
    // Linux waits a little. For macOS this would be the wish to go on, and it would not shut down at all.
    if (platform === 'linux') event?.preventDefault()
    end()
  })
  // Windows tells each window.
  app.on('browser-window-created', (_event, window) => void window.on('session-end', end))
}
