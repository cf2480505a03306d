import { defineWords } from '../i18n.ts'

const en = {
  noneRunning: 'No sessions are running',
  noneRunningText:
    'A session is your own container with the CPU, memory and GPUs that you choose. Open Jupyter or a terminal in it, or connect with SSH and SFTP.',
  launchFirst: 'Launch your first session',
  noneFinished: 'No finished sessions yet',
  noneFinishedText:
    'Sessions that have ended appear here with their log and timeline. You can start them again or launch a copy.',
  noMatch: 'No session matches',
  noRunningMatch: 'None of the {count, number} active sessions matches the filter.',
  noFinishedMatch: 'None of the {count, number} finished sessions matches the filter.',
  noLoadedRunningMatch: 'None of the {count, number} active sessions that are loaded matches the filter.',
  noLoadedFinishedMatch: 'None of the {count, number} finished sessions that are loaded matches the filter.',
  noneWaiting: 'No session is waiting',
  noneWaitingText: 'Sessions wait here until a host has room for them.',
  noneFailed: 'No session has failed',
  noneFailedText: 'Sessions that ended with an error, and batch jobs whose command failed, appear here.',
  clearFilter: 'Clear filter',
} as const

export default en
export const t = defineWords('empty-list', en)
