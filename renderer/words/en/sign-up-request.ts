import { defineWords } from '../i18n.ts'

/** Asking for an account, about which an administrator decides. */
const en = {
  title: 'Ask for an account',
  about: 'An administrator decides about your request. You get the answer by mail.',
  aboutNoMail: 'An administrator decides about your request and gives you a link to set your password.',
  domains: 'Only for addresses of: {domains}',
  note: 'What you need the account for',
  noteHint: 'The administrators read this. Not required.',
  ask: 'Send the request',
  confirmMailed:
    'If this address has no account yet, we sent it a link. Open the link within 24 hours: the administrators see your request after that.',
  received: 'Request received',
  waits: 'If this address has no account yet, the administrators see your request now.',
  confirmTitle: 'Confirm your request',
  confirmAbout: 'This confirms your e-mail address and sends your request for an account to the administrators.',
  sent: 'Your request is on its way',
  sentAbout: 'The administrators see it now. You get a mail when they have decided.',
} as const

export default en
export const t = defineWords('sign-up-request', en)
