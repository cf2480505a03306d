import { defineWords } from '../i18n.ts'

const en = {
  everywhere: 'Everywhere',
  showSheet: 'show this sheet',
  closeThings: 'close a dialog, a menu or the details of a session',
  searchKey: 'search',
  moveRow: 'go to the same control of the row above or below',
  selectBetween: 'select all sessions between two',
  filesKeys: 'Files',
  singleKeys: 'Use the single keys ?, / and n',
} as const

export default en
export const t = defineWords('shortcuts', en)
