import { type StoredSettings } from '#manager/contract'

const HOUR = 3600
const DAY = 24 * HOUR

export interface LoginLifetime {
  /** The sign-in ends after this time without use. Renewing a grant (a tunnel is open) is a use. */
  readonly idleSeconds: number
  /** The sign-in ends after this time in any case. */
  readonly maxSeconds: number
}

export type LoginLifetimes = Readonly<Record<'browser' | 'token', LoginLifetime>>

/** Lifetimes of new sign-ins; a later change of the settings applies only to later sign-ins. */
export function lifetimesOf(
  settings: Pick<StoredSettings, 'browserIdleHours' | 'browserMaxDays' | 'tokenDays'>,
): LoginLifetimes {
  const { browserIdleHours, browserMaxDays, tokenDays } = settings
  return {
    browser: { idleSeconds: browserIdleHours * HOUR, maxSeconds: browserMaxDays * DAY },
    token: { idleSeconds: tokenDays * DAY, maxSeconds: tokenDays * DAY },
  }
}
