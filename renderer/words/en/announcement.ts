import { defineWords } from '../i18n.ts'

const en = {
  info: 'Announcement',
  warning: 'Announcement',
  critical: 'Urgent announcement',
  until: 'until {time}',
  dismiss: 'Dismiss the announcement',
  read: 'Read',
} as const

export default en
export const t = defineWords('announcement', en)
