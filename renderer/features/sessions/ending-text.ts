import { type Session } from '#manager/contract'
import { t as shared } from '../../words/en/ui.ts'
import { t } from '../../words/en/sessions.ts'

export interface EndingText {
  /** `Ends in 5 min` */
  readonly label: string
  /** The cause of the end, and what happens to the session's files. */
  readonly why: string
  /** True if less than five minutes are left. */
  readonly urgent: boolean
}

/** Text about the coming end of a session. @returns undefined before the owner has been warned */
export function endingText(
  { ends, clusterSize }: Pick<Session, 'ends' | 'clusterSize'>,
  now: Date,
): EndingText | undefined {
  if (!ends?.warnedAt) return undefined
  const left = Date.parse(ends.at) - now.getTime()
  const why = { idle_timeout: 'wasIdle', max_lifetime: 'lifetimeOver', slurm_time_limit: 'slurmLimitOver' } as const
  return {
    label: left <= 0 ? t('endsNow') : t('endsIn', { time: leftText(left) }),
    why: `${t(why[ends.why])} ${t(clusterSize === 1 ? 'homeKept' : 'onlyFoldersStay')}`,
    urgent: left < 5 * 60_000,
  }
}

/** The time left in minutes, and in seconds during the last minute. */
function leftText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds <= 60 ? shared('seconds', { count: seconds }) : shared('minutes', { count: Math.ceil(seconds / 60) })
}
