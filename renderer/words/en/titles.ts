import { defineWords } from '../i18n.ts'

/** Titles of the browser tab, by page. */
const en = {
  signIn: 'Sign in',
  signInCode: 'Code of your sign-in',
  start: 'Welcome',
  signUp: 'Sign up',
  forgotPassword: 'Forgotten password',
  newPassword: 'New password',
  confirmAddress: 'Confirm your address',
  summary: 'Summary',
  sessions: 'Sessions',
  session: 'Session',
  logs: 'Logs',
  files: 'Files',
  folders: 'Data & Storage',
  statistics: 'Statistics',
  information: 'Information',
  tunnels: 'Tunnels',
  preferences: 'Preferences',
  account: 'Your account',
  terminal: 'Terminal',
  notFound: 'Not found',
} as const

export default en
export const t = defineWords('titles', en)
