/** Longest times of a session in each transient state, and other periods of its life. Milliseconds. */
export interface Timings {
  readonly scheduledMs: number
  /** Also the time that an agent gets to start a container whose image it has. */
  readonly preparingMs: number
  readonly pullingMs: number
  /** A pull without progress for this long has failed. */
  readonly pullStalledMs: number
  /** Longest time a start may wait for its turn on its agent, while the agent reports that it waits. */
  readonly turnMs: number
  readonly terminatingMs: number
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs: number
  readonly destroyTimeoutMs: number
  /** Extra time after an agent's own deadline within which it answers. */
  readonly replyMarginMs: number
  readonly sweepMs: number
  /** Number of start attempts of one session, each on another agent if possible. */
  readonly maxAttempts: number
  readonly lifetimeSweepMs: number
  /** Period over which a session's activity is judged. */
  readonly idleWindowMs: number
  /** Figures older than this are stale. */
  readonly idleFreshMs: number
  /** Minimum time between two writes that a session is idle. */
  readonly idleSeenEveryMs: number
  /** If the idle clock was not checked for this long, it counts as having been stopped. */
  readonly idleGapMs: number
}

export const DEFAULT_TIMINGS: Timings = {
  scheduledMs: 30_000,
  preparingMs: 60_000,
  pullingMs: 30 * 60_000,
  pullStalledMs: 5 * 60_000,
  turnMs: 30 * 60_000,
  terminatingMs: 60_000,
  graceMs: 10_000,
  destroyTimeoutMs: 45_000,
  replyMarginMs: 5_000,
  sweepMs: 1_000,
  maxAttempts: 3,
  lifetimeSweepMs: 5_000,
  idleWindowMs: 60_000,
  idleFreshMs: 10_000,
  idleSeenEveryMs: 30_000,
  idleGapMs: 90_000,
}
