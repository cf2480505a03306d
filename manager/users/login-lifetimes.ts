import { type StoredSettings } from '#manager/contract'

const HOUR = 3600
const DAY = 24 * HOUR

export interface LoginLifetime {
  /** It ends when it was not used for so long. Renewing a grant (a tunnel is open) is a use. */
  readonly idleSeconds: number
  /** It ends then in any case. */
  readonly maxSeconds: number
}

export type LoginLifetimes = Readonly<Record<'browser' | 'token', LoginLifetime>>

/** Of the sign-ins that start now: what is changed later counts for later ones. */
export function lifetimesOf(
  settings: Pick<StoredSettings, 'browserIdleHours' | 'browserMaxDays' | 'tokenDays'>,
): LoginLifetimes {
  const { browserIdleHours, browserMaxDays, tokenDays } = settings
  return {
    browser: { idleSeconds: browserIdleHours * HOUR, maxSeconds: browserMaxDays * DAY },
    token: { idleSeconds: tokenDays * DAY, maxSeconds: tokenDays * DAY },
  }
}
