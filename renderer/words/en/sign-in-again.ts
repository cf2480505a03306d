import { defineWords } from '../i18n.ts'

const en = {
  signInAgain: 'Sign in again',
  signInEnded: 'Your sign-in ended. The page stays as it is; sessions and their programs keep running.',
  signInAsOther: 'Sign in as someone else',
} as const

export default en
export const t = defineWords('sign-in-again', en)
