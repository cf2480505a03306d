import { type ElectronSlice } from '../electron-slice.ts'

/** @returns the signal of this time awake: it aborts when the computer wakes up, because what was open before is dead */
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
