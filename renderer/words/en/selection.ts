import { defineWords } from '../i18n.ts'

const en = {
  clearSelection: 'Clear selection',
  selectedCount: '{count, number} selected',
  mostLogs: 'At most {most} logs at once',
  terminateSelected: 'Terminate…',
} as const

export default en
export const t = defineWords('selection', en)
