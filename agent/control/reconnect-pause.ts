import { jitteredMs } from '#base/backoff'

const PAUSES = { firstMs: 200, longestMs: 10_000 } as const
/** Pauses for a manager on this machine: there is no crowd of agents that reconnects, and sessions should be back within seconds. */
const LOCAL_PAUSES = { firstMs: 200, longestMs: 400 } as const

/**
 * Pause before an agent connects again.
 *
 * @param failures consecutive failures, from 0
 * @param random in [0, 1)
 */
export const reconnectPauseMs = (failures: number, random: number, { local }: { readonly local: boolean }): number =>
  jitteredMs(failures, local ? LOCAL_PAUSES : PAUSES, random)
