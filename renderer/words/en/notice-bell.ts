import { defineWords } from '../i18n.ts'

const en = {
  unread: '{count, plural, =0 {No unread notifications} one {# unread notification} other {# unread notifications}}',
} as const

export default en
export const t = defineWords('notice-bell', en)
