import { defineWords } from '../i18n.ts'

const en = {
  proxyMisconfigured: 'The reverse proxy in front of Berth is misconfigured.',
  lastSeen: 'Last seen {time} ago.',
  proxyLines: 'Lines for its configuration',
  proxyMore: 'More is in <code>{file}</code>. Administrators alone see this notice.',
  dismissNotice: 'Dismiss this notice',
} as const

export default en
export const t = defineWords('proxy-banner', en)
