import { jitteredMs } from '#base/backoff'

const PAUSES = { firstMs: 200, longestMs: 10_000 } as const
/** Where nothing listens an attempt costs nobody anything; after a restart all agents should be back within seconds. */
const REFUSED_PAUSES = { firstMs: 200, longestMs: 3_000 } as const
/** Pauses for a manager on this machine: there is no crowd of agents that reconnects, and sessions should be back within seconds. */
const LOCAL_PAUSES = { firstMs: 200, longestMs: 400 } as const

/**
 * Pause before an agent connects again.
 *
 * @param failures consecutive failures, from 0
 * @param random in [0, 1)
 * @param how whether the manager is on this machine, and whether its port refused the connection, so that nothing listens there
 */
export const reconnectPauseMs = (
  failures: number,
  random: number,
  { local, refused }: { readonly local: boolean; readonly refused: boolean },
): number => jitteredMs(failures, local ? LOCAL_PAUSES : refused ? REFUSED_PAUSES : PAUSES, random)
