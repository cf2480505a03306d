import { defineWords } from '../i18n.ts'

const en = {
  title: 'Usage and limits',
  noHost: 'No host is connected',
  hostsLost: '{lost} of {all} hosts lost',
  usage: 'Usage',
  sessions: 'Sessions',
  running: '{count, number} running',
  holdLimited: '{label}: you hold {amount}, of your limit.',
  holdUnlimited: '{label}: you hold {amount}, no limit of your own.',
  inProject: 'Project {project}: {amount}.',
  together: 'Everyone together: {amount}.',
  togetherInGroup: 'Everyone together in resource group {group}: {amount}.',
} as const

export default en
export const t = defineWords('usage', en)
