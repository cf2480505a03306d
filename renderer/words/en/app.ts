import { defineWords } from '../i18n.ts'

const en = {
  skipToContent: 'Skip to content',
  noServer:
    '<b>No connection to the server of this page.</b> It does not answer, or the network is down. What you see may be old; sessions keep running.',
  noConnection: '<b>No connection to the manager.</b> What you see may be old; sessions keep running.',
  nextAttempt: 'Next attempt in {seconds, number} s.',
  connecting: 'Connecting…',
  tryNow: 'Try now',
  notConnected: '<b>No connection to the manager.</b>',
  compareCertificate: 'Compare the certificate',
  toSummary: 'Berth, to the summary',
  pageNotFound: 'Page not found',
  mayBeOld: 'The address may be old or mistyped.',
  goToSummary: 'To the summary',
  sections: 'Sections',
  summary: 'Summary',
  sessions: 'Sessions',
  account: 'Account',
  search: 'Search',
  openPalette: 'Search (Ctrl+K)',
  theme: 'Theme',
  light: 'Light',
  dark: 'Dark',
  asSystem: 'As the system',
  accountOf: 'Account of {name}',
  superadmin: 'Superadmin: sees all sessions',
  domainAdmin: 'Domain admin: sees all sessions of the domain {domain}',
  yourAccount: 'Your account',
  changePassword: 'Change password',
  shortcuts: 'Keyboard shortcuts',
  signOut: 'Sign out',
  newSession: 'new session',
  terminal: 'Terminal',
  openInvitations: '{count, plural, one {# open invitation} other {# open invitations}}',
} as const

export default en
export const t = defineWords('app', en)
