import { defineWords } from '../i18n.ts'

const en = {
  title: 'What happened with your account',
  what: 'Kept for 30 days, also after you have cleared your notifications. If something here was not you, change your password and ask an administrator.',
  none: 'Nothing in the last 30 days.',
  more: 'Show earlier',
  loading: 'Loading what happened with your account',
} as const

export default en
export const t = defineWords('account-news', en)
