import { type ElectronSlice } from '../electron-slice.ts'

/** @returns a signal for the time until the next sleep: it aborts when the computer wakes up, because earlier connections are then dead */
export function watchSleep(
  { powerMonitor }: Pick<ElectronSlice, 'powerMonitor'>,
  onAwake: () => void,
): () => AbortSignal {
  let untilSleep = new AbortController()
  powerMonitor.on('resume', () => {
    untilSleep.abort(new Error('the computer has slept'))
    untilSleep = new AbortController()
    onAwake()
  })
  powerMonitor.on('unlock-screen', onAwake)
  return () => untilSleep.signal
}
