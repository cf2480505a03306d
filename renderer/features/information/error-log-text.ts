import { errorLog } from '../../ui/error-log.ts'

/** Text of the log with one line per error, oldest first. */
export const errorLogText = () =>
  errorLog.value
    .toReversed()
    .map(({ at, text }) => `${at.toISOString()} ${text}\n`)
    .join('')
