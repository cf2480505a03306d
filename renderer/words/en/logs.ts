import { defineWords } from '../i18n.ts'

const en = {
  logs: 'Logs',
  none: 'No sessions are chosen',
  noneText: 'Select sessions in the list, then choose Logs.',
  toSessions: 'To the sessions',
  search: 'Search in all logs',
  follow: 'Follow',
  view: 'View',
  columns: 'Side by side',
  together: 'By time',
  hits: '{count, plural, =0 {no match} one {# match} other {# matches}}',
  logOf: 'Log of {name}',
  logsByTime: 'Logs by time',
  loading: 'Loading the log',
  noOutput: 'No output',
  sessionTabs: 'Sessions',
  remove: 'Remove {name} from this page',
  noTimes: 'The kept log of an ended session has no times, so its lines come first.',
} as const

export default en
export const t = defineWords('logs', en)
