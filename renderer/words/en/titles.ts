/** Titles of the browser tab, by page. */
export default {
  signIn: 'Sign in',
  signUp: 'Sign up',
  forgotPassword: 'Forgotten password',
  newPassword: 'New password',
  confirmAddress: 'Confirm your address',
  summary: 'Summary',
  sessions: 'Sessions',
  session: 'Session',
  files: 'Files',
  folders: 'Data & Storage',
  statistics: 'Statistics',
  information: 'Information',
  preferences: 'Preferences',
  account: 'Your account',
  terminal: 'Terminal',
  notFound: 'Not found',
} as const
