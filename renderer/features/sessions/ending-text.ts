import { type Session } from '#manager/contract'

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
  const cause =
    ends.why === 'idle_timeout' ? 'The session has been idle for a while.' : 'The maximum lifetime of the session ends.'
  const files =
    clusterSize === 1 ? 'Only the home folder is kept, for about a day while there is room.' : 'All files are deleted.'
  return {
    label: left <= 0 ? 'Ends now' : `Ends in ${leftText(left)}`,
    why: `${cause} ${files}`,
    urgent: left < 5 * 60_000,
  }
}

/** The time left in minutes, and in seconds during the last minute. */
function leftText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds <= 60 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
}
