/** From its end being due to its slots being free: SIGTERM, grace, and the removal of the container. */
const END_MS = 60_000
/** From being placed to running, with the image at hand: what the agent is given. */
const START_MS = 60_000

/** When what a running session holds is free at the latest. Milliseconds since the epoch. */
export function latestEndOf(expiresAt: Date): number {
  return expiresAt.getTime() + END_MS
}

/** How long a session that is placed now holds its slots at the longest; null where nobody knows. */
export function longestHold(maxLifetimeSeconds: number | null): number | null {
  return maxLifetimeSeconds === null ? null : START_MS + maxLifetimeSeconds * 1000 + END_MS
}
