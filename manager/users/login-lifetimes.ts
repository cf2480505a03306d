const HOUR = 3600
const DAY = 24 * HOUR

/** How long a sign-in lives after its last use, and at most. Renewing a grant (a tunnel is open) is a use. */
export const LOGIN_LIFETIMES = {
  browser: { idleSeconds: 12 * HOUR, maxSeconds: 7 * DAY },
  token: { idleSeconds: 30 * DAY, maxSeconds: 30 * DAY },
} as const
