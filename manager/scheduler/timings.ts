/** How long a session may stay in a state that must not last, and what else is measured in time. Milliseconds. */
export interface Timings {
  readonly scheduledMs: number
  /** Also what an agent gets to start a container whose image it has. */
  readonly preparingMs: number
  readonly pullingMs: number
  /** A pull that does not move for this long has failed. */
  readonly pullStalledMs: number
  /** The longest that a start may wait for its turn on its agent, while the agent says that it does. */
  readonly turnMs: number
  readonly terminatingMs: number
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number
  readonly destroyTimeoutMs: number
  /** An agent answers this much after its own deadline at the latest. */
  readonly replyMarginMs: number
  readonly sweepMs: number
  /** Starts of one session, each on another agent where there is one. */
  readonly maxAttempts: number
  readonly lifetimeSweepMs: number
  /** Whether something happens in a session is judged by so much of its past. */
  readonly idleWindowMs: number
  /** Figures that are older say nothing. */
  readonly idleFreshMs: number
  /** That a session is idle is written at most so often. */
  readonly idleSeenEveryMs: number
  /** After so long without a look the idle clock has stood still. */
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
