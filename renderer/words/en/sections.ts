/** Names of the sections of the console, short enough for the bar of a phone. */
export default {
  summary: 'Summary',
  sessions: 'Sessions',
  data: 'Data',
  statistics: 'Statistics',
  account: 'Account',
  information: 'Information',
  sections: 'Sections',
} as const
