import { type Session } from '#manager/contract'

export interface EndingText {
  /** `Ends in 5 min` */
  readonly label: string
  /** Why, and what can be done about it. */
  readonly why: string
  /** Less than five minutes are left. */
  readonly urgent: boolean
}

/** What there is to say about an end that its owner was warned of; undefined before. */
export function endingText({ ends }: Pick<Session, 'ends'>, now: Date): EndingText | undefined {
  if (!ends?.warnedAt) return undefined
  const left = Date.parse(ends.at) - now.getTime()
  const why =
    ends.why === 'idle_timeout'
      ? 'Nothing has happened in it for a while. Files outside of mounted folders are lost then.'
      : 'Its maximum lifetime is over then. Files outside of mounted folders are lost.'
  return { label: left <= 0 ? 'Ends now' : `Ends in ${leftText(left)}`, why, urgent: left < 5 * 60_000 }
}

/** Minutes are enough until the last one. */
function leftText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds <= 60 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
}
