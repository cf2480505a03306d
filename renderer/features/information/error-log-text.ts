import { errorLog } from '../../ui/error-log.ts'

/** One line an error, oldest first, as in a log file. */
export const errorLogText = () =>
  errorLog.value
    .toReversed()
    .map(({ at, text }) => `${at.toISOString()} ${text}\n`)
    .join('')
