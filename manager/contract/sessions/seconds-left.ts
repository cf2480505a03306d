import { type PullProgress } from './sessions.ts'

/** Seconds that the rest of an image takes at the rate that was measured; undefined without one, and once all has arrived. */
export function secondsLeft({
  bytesDone,
  bytesTotal,
  bytesPerSecond = 0,
}: Pick<PullProgress, 'bytesDone' | 'bytesTotal' | 'bytesPerSecond'>): number | undefined {
  return bytesPerSecond > 0 && bytesTotal > bytesDone ? Math.ceil((bytesTotal - bytesDone) / bytesPerSecond) : undefined
}
