import { defineWords } from '../i18n.ts'

/** Sign-out of a browser that nobody uses. */
const en = {
  title: 'Are you still there?',
  text: 'Nobody has used this browser for a while. You will be signed out in {time}. Nothing is lost: the page stays as it is, and sessions keep running.',
  stay: 'Stay signed in',
  signOut: 'Sign out now',
} as const

export default en
export const t = defineWords('idle', en)
