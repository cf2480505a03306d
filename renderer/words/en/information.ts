import { defineWords } from '../i18n.ts'

const en = {
  information: 'Information',
  versions: 'Versions',
  console: 'This page',
  olderPage: '{version}. Berth was updated since: reload the page.',
  host: 'Proxy or desktop app',
  api: 'API',
  versionAt: '{version} on {names}',
  agentsAt: '{version} (Docker {engine}) on {names}',
  managers: 'Manager',
  agents: 'Agents',
  unknown: 'unknown',
  forAdmins: 'Shown to administrators',
  check: 'Connection check',
  checkAgain: 'Check again',
  checkApi: 'Manager answers',
  checkEvents: 'Changes arrive at once',
  checkHost: 'Proxy answers',
  checkSessions: 'Hosts of your running sessions',
  sessionsOk:
    '{count, plural, =0 {You have no running session} one {# session reachable} other {# sessions reachable}}',
  sessionsLost: '{lost, number} of {count, number} sessions cannot be reached; they keep running',
  checkOk: 'Works, {ms, number} ms',
  checkLive: 'Works',
  checkWaiting: 'Interrupted; the page connects again by itself',
  checkClock: 'Clock of this computer',
  clockAhead: '{time} ahead of the server. Times on this page go by the server.',
  clockBehind: '{time} behind the server. Times on this page go by the server.',
  checking: 'Checking…',
  errors: 'Errors of this page',
  noErrors: 'No error since this tab was opened.',
  copyErrors: 'Copy all',
  exportErrors: 'Save as text',
  errorsHint:
    '{count, plural, one {One error.} other {The last # errors, newest first.}} A reload keeps them; they end with the tab or your sign-out, and are sent to nobody.',
} as const

export default en
export const t = defineWords('information', en)
