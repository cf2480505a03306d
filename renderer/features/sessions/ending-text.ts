import { type Session } from '#manager/contract'

export interface EndingText {
  /** `Ends in 5 min` */
  readonly label: string
  /** Why, and what becomes of its files. */
  readonly why: string
  /** Less than five minutes are left. */
  readonly urgent: boolean
}

/** What there is to say about an end that its owner was warned of; undefined before. */
export function endingText(
  { ends, clusterSize }: Pick<Session, 'ends' | 'clusterSize'>,
  now: Date,
): EndingText | undefined {
  if (!ends?.warnedAt) return undefined
  const left = Date.parse(ends.at) - now.getTime()
  const cause =
    ends.why === 'idle_timeout'
      ? 'Nothing has happened in the session for a while.'
      : 'Its maximum lifetime is over then.'
  const files =
    clusterSize === 1 ? 'Only the home folder is kept, for about a day while there is room.' : 'All files are deleted.'
  return {
    label: left <= 0 ? 'Ends now' : `Ends in ${leftText(left)}`,
    why: `${cause} ${files}`,
    urgent: left < 5 * 60_000,
  }
}

/** Minutes are enough until the last one. */
function leftText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds <= 60 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
}
