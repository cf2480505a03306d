import { defineWords } from '../i18n.ts'

/** Names of the sections of the console, short enough for the bar of a phone. */
const en = {
  summary: 'Summary',
  sessions: 'Sessions',
  data: 'Data & Storage',
  statistics: 'Statistics',
  account: 'Account',
  admin: 'Admin',
  tunnels: 'Tunnels',
  preferences: 'Preferences',
  information: 'Information',
  sections: 'Sections',
} as const

export default en
export const t = defineWords('sections', en)
