import { defineWords } from '../i18n.ts'

const en = {
  signInNotKept:
    'You are signed in until Berth quits: the credential store of this computer does not work ({why}). Unlock or set it up, then sign in again to stay signed in.',
  partlyIsolated:
    'Sessions on this computer can reach it and its network. {why} Run only code that you trust until that is mended.',
  showAgents: 'Show agents',
} as const

export default en
export const t = defineWords('desktop-warnings', en)
